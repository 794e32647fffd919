"""Pictures of layouts: colours, pixels, close-up shapes."""
