"""vbench measures what video-language models understand."""

__version__ = "0.1.0"
