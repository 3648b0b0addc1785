"""Controllers and other blocks without mechanics: what they are, and how they become models to export and to couple."""

from kingpost.control.blocks.description import Block, DiscreteBlock, Measured, State, Symbols, step_function
from kingpost.control.blocks.model import block_model
from kingpost.control.blocks.sampling import sampled

__all__ = ["Block", "DiscreteBlock", "Measured", "State", "Symbols", "block_model", "sampled", "step_function"]
