"""Quality of variants and samples, and their thresholds."""
