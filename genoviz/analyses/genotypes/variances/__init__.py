"""Variance components: what shares of a trait's variance relationships account for."""
