"""Files of genotypes, phenotypes and pedigrees."""
