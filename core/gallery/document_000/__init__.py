"""Document 000: a thesis on inverse dynamics of underactuated multibody systems by servo-constraints."""
