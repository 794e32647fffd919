"""Files of any format: opened, cached, replaced as a whole, protected."""
