"""Features, reads and signals as files."""
