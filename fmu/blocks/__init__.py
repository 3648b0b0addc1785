"""Controllers and other blocks without mechanics: as FMUs, and in coupled systems."""

from kingpost.fmu.blocks.block import Block, State, block_model, export_block, pi_controller

__all__ = ["Block", "State", "block_model", "export_block", "pi_controller"]
