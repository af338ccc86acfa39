"""Tasks for learning, and many environments of one at once, as gymnasium has them."""
