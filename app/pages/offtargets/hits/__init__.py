"""The hits: table, filters, card, figures, files."""
