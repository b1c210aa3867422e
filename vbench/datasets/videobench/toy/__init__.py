"""Video-Bench's thirteen kinds of question on the toy world, as released, with answers."""
