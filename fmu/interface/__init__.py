"""What a model shows to the outside, and how that is described."""
