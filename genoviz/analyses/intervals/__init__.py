"""Intervals on contigs: counted, covered, paired, and as depth or signal."""
