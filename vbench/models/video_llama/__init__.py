"""Video-LLaMA's vision branch, which transformers has no class for, in the form it asks for."""
