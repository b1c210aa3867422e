"""Models: each answers for a clip and a text; what it implements decides how it is asked."""
