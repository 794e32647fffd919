"""What the kernels reach against their peers; ``python -m benchmarks.run`` measures."""
