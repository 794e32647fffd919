"""The public functions: they validate and prepare arguments, run a kernel, and wrap the result."""
