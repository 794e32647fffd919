"""The public functions: they check, prepare, choose a backend, run a kernel, name the result."""
