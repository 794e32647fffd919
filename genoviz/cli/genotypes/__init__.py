"""Commands on genotypes."""
