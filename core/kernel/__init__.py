"""Functions as machine code or in the interpreter, with a cache on disk."""
