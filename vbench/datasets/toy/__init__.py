"""A procedural world with known facts: clips, captions and pictures, a pure function of a seed."""
