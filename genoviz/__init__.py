"""Genomics kernels for CPU and GPU."""
