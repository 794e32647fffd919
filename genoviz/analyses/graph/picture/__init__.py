"""Pictures of layouts: colours, pixels, shapes near by."""
