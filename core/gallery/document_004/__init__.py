"""Document 004: a paper on constraint forces between a crane and its vessel, by Kane's method with screws."""
