"""Methods of inverse dynamics for servo-constraints, and the steppers that carry them out."""
