"""Small planted bugs, one at a time, and whether the tests see them: ``make mutants``."""
