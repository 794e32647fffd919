"""Off-targets of CRISPR guides, in genomes and on the paths of graphs."""
