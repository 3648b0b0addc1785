"""Document 003: a paper on servo-constraints of underactuated systems."""
