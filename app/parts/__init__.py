"""What several pages are made of: tables, buttons, panels under a picture, and their looks."""
