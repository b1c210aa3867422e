"""Language models whose answers are known beforehand."""
