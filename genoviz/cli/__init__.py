"""The command line: one module for each command, on Typer; nothing heavy is imported at the top."""
