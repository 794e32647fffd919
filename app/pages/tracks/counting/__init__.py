"""What tracks have in regions."""
