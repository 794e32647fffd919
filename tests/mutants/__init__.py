"""Mutation testing: plants small bugs one at a time and runs the tests; see ``make mutants``."""
