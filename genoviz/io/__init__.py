"""Files in, model objects out, and back."""
