"""What is searched for, in what, and the search."""
