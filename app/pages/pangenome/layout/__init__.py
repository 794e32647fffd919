"""A layout run: its settings, controls and stress."""
