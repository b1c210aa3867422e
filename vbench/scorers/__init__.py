"""Scorers: which requests a sample needs, and how their answers become its score matrix."""
