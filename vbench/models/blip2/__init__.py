"""What models share that are BLIP-2's vision tower and Q-Former before LLaMA, in several files."""
