"""Text of any format: bytes, lines, fields and errors."""
