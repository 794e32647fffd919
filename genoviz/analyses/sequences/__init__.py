"""K-mers of sequences and graphs: suffix arrays, FM-indexes, spectra."""
