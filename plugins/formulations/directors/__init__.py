"""Natural coordinates (directors): constant mass matrix, quadratic constraints."""
