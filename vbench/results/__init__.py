"""What a run leaves behind: its folder, its statistics, its tables, its mirror in W&B."""
