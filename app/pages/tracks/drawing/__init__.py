"""The tracks as they are drawn and moved through."""
