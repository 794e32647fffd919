"""Files of any format: opening, caching, atomic replacement, write protection."""
