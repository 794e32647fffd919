"""Many people at once, for a long time: ``python -m tests.soak``."""
