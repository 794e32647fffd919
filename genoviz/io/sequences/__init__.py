"""Files of sequences and k-mer indexes."""
