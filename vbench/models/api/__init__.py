"""Models behind an API: requests over HTTP, paid once, under a budget."""
