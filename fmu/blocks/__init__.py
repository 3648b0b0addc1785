"""Controllers and other blocks without mechanics: as FMUs, and in coupled systems."""

from kingpost.control.blocks import Block, DiscreteBlock, Measured, State, block_model, sampled, step_function
from kingpost.fmu.blocks.block import export_block, pi_controller

__all__ = [
    "Block",
    "DiscreteBlock",
    "Measured",
    "State",
    "block_model",
    "export_block",
    "pi_controller",
    "sampled",
    "step_function",
]
