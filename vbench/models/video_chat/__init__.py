"""VideoChat, the first one, which transformers has no class for, in the form that it asks for."""
