"""The command for off-targets."""
