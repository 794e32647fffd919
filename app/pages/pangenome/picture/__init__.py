"""The live picture: frames, canvas and colours."""
