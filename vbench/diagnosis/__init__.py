"""What is wrong with a dataset: findings about its files and its samples."""
