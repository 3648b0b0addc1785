"""Seas, and numbers in the axes of other marine tools."""

from kingpost.marine.axes import (
    FLIP,
    flip_angles,
    flip_matrices,
    flip_quaternions,
    flip_rotations,
    flip_screws,
    flip_vectors,
    reorder_matrices,
    reorder_screws,
)

__all__ = [
    "FLIP",
    "flip_angles",
    "flip_matrices",
    "flip_quaternions",
    "flip_rotations",
    "flip_screws",
    "flip_vectors",
    "reorder_matrices",
    "reorder_screws",
]
