"""Sources of samples: files, annotations and procedural worlds."""
