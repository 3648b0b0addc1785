"""System structures of SSP, version 1.0 and what equals it in 2.0."""
