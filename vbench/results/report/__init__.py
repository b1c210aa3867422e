"""report.html: a run, a sweep or a dataset as one page that needs no server and no network."""
