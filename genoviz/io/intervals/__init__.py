"""Files of features, reads and signals."""
