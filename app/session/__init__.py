"""What one browser tab has open and shares, and its address."""
