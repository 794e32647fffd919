"""How many doors the house has: what is counted, and what the counts may not exceed."""
