"""Video-Bench (arXiv 2311.16103): its thirteen question files, as released or with answers."""
