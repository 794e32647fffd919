"""Commands on k-mers."""
