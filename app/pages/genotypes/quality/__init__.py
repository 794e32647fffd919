"""Quality of variants and samples, and thresholds."""
