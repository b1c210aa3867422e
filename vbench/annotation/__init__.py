"""What people are asked about a dataset, and what becomes of their answers."""
