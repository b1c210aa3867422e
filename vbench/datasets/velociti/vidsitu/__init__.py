"""VELOCITI's tests built from VidSitu's semantic role labels."""
