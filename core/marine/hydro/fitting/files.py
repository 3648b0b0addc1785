"""Fitted memories in files, so that a fit is made once and is the same numbers on every machine."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.errors import FileError
from kingpost.base.files import write_whole
from kingpost.marine.hydro.data import MOTIONS
from kingpost.marine.hydro.fitting.memory import Memory, MemoryBlock
from kingpost.marine.hydro.formats.assembly import DAMAGE

FORM = "kingpost radiation memory 1"


def write_memory(memory: Memory, path: str | Path, source: str = "") -> None:
    """Write a memory as NPZ; ``source`` says what it was fitted to, and how well."""
    arrays = {"form": np.array(FORM), "source": np.array(source), "added_mass_inf": memory.added_mass_inf}
    arrays["reference"] = memory.reference
    for k, block in enumerate(memory.blocks):
        arrays |= {
            f"motions_{k}": np.array(block.motions),
            f"poles_{k}": block.poles,
            f"residues_{k}": block.residues,
        }
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]  # arrays by name
    write_whole(Path(path), lambda place: _fill(place, content.getvalue()))


def read_memory(path: str | Path) -> tuple[Memory, str]:
    """Return the memory in a file, and what it was fitted to."""
    try:
        with Path(path).open("rb") as content, np.load(content, allow_pickle=False) as file:
            if str(file["form"]) != FORM:
                raise FileError(f"'{path}' is no radiation memory of this version: its form is '{file['form']}'")
            count = sum(name.startswith("poles_") for name in file.files)
            blocks = tuple(_block(file, k) for k in range(count))
            motions = [motion for block in blocks for motion in block.motions]
            if len(set(motions)) < len(motions):
                raise ValueError("a motion is in two blocks, or twice in one")
            mass, reference = _numbers(file, "added_mass_inf", (6, 6), "f"), _numbers(file, "reference", (3,), "f")
            return Memory(mass, blocks, reference), str(file["source"])
    except FileError:
        raise
    except (*DAMAGE, MemoryError) as error:
        raise FileError(f"'{path}' cannot be read as a radiation memory: {error or type(error).__name__}") from None


def _block(file: Mapping[str, Any], k: int) -> MemoryBlock:
    """Return a block of motions; one with other numbers than a memory can have is refused."""
    motions = _numbers(file, f"motions_{k}", (None,), "iu")
    poles = _numbers(file, f"poles_{k}", (None,), "fc")
    if not len(motions) or not ((motions >= 0) & (motions < len(MOTIONS))).all():
        raise ValueError(f"motions_{k} are not numbers from 0 to {len(MOTIONS) - 1}")
    if not ((poles.real < 0) & (poles.imag >= 0)).all():
        raise ValueError(f"poles_{k} have a real part that is not below zero, or an imaginary part that is")
    residues = _numbers(file, f"residues_{k}", (len(poles), len(motions), len(motions)), "fc")
    return MemoryBlock(tuple(map(int, motions)), poles.astype(complex), residues.astype(complex))


def _numbers(file: Mapping[str, Any], name: str, shape: tuple[int | None, ...], kinds: str) -> Any:
    """Return an array of finite numbers of the kinds and of the shape that it must have; a size of None is any."""
    values = np.asarray(file[name])
    fits = values.ndim == len(shape) and all(wanted in (None, size) for wanted, size in zip(shape, values.shape, strict=True))
    if values.dtype.kind not in kinds or not fits or not np.isfinite(values).all():
        wanted = " by ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"'{name}' must hold finite numbers, {wanted}; it has {values.dtype} of shape {values.shape}")
    return values


def _fill(place: Path, content: bytes) -> None:
    place.write_bytes(content)
