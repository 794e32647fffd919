"""Text of any format: its bytes, lines, fields and errors."""
