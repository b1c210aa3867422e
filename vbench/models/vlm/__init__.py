"""Video-language models: local weights scored by logits, the video read once."""
