"""Variance components: shares of a trait's variance that relationships explain."""
