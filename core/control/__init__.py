"""What a machine is asked to do: servo-constraints and inverse dynamics."""
