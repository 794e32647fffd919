"""Kernels: functions over arrays, each for the CPU and for NVIDIA GPUs; they trust their input."""
