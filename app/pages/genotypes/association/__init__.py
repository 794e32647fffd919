"""Association scans and the neighbourhood of a variant."""
