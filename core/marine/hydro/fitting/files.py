"""Fitted memories in files, so that a fit is made once and is the same numbers on every machine."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from kingpost.base.errors import FileError
from kingpost.base.files import write_whole
from kingpost.marine.hydro.fitting.memory import Memory, MemoryBlock

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
        with np.load(path, allow_pickle=False) as file:
            if str(file["form"]) != FORM:
                raise FileError(f"'{path}' is no radiation memory of this version: its form is '{file['form']}'")
            count = sum(name.startswith("poles_") for name in file.files)
            blocks = tuple(
                MemoryBlock(tuple(map(int, file[f"motions_{k}"])), file[f"poles_{k}"], file[f"residues_{k}"])
                for k in range(count)
            )
            return Memory(file["added_mass_inf"], blocks, file["reference"]), str(file["source"])
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"'{path}' cannot be read as a radiation memory: {error}") from None


def _fill(place: Path, content: bytes) -> None:
    place.write_bytes(content)
