"""Valley, which transformers has no class for, in the form that transformers asks for."""
