"""Size limits of the code base, and the counts they apply to."""
