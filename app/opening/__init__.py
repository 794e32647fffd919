"""Opening files and uploads: read once, shared by everybody."""
