"""Video-Bench's tables and figures, from the printed values and from runs."""
