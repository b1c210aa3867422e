"""The Lightning predict loop: what to ask, how it is prepared, asked and written down."""
