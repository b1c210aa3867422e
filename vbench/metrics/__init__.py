"""Metrics: from filled score matrices to credits per sample."""
