"""The live picture: frames, canvas, colours."""
