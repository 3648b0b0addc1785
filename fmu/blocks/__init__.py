"""Controllers and other blocks without mechanics: as FMUs, and in coupled systems."""

from kingpost.control.blocks import Block, DiscreteBlock, Measured, State, block_model, sampled, step_function
from kingpost.fmu.blocks.block import export_block, pi_controller
from kingpost.fmu.blocks.controller import controller_block, export_controller

__all__ = [
    "Block",
    "DiscreteBlock",
    "Measured",
    "State",
    "block_model",
    "controller_block",
    "export_block",
    "export_controller",
    "pi_controller",
    "sampled",
    "step_function",
]
