"""Which frames a model sees, and how they are read."""
