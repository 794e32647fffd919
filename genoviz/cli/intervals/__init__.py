"""Commands on intervals."""
