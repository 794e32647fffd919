"""Many graphs as one: the chromosomes of a genome, read and laid out one after the other."""
