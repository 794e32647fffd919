"""Components shared by several pages: tables, buttons, panels below a picture, styles."""
