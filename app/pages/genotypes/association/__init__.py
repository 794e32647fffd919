"""Association scans, and what is around a variant."""
