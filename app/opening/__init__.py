"""Opening of files and uploads; contents are read once and shared between tabs."""
