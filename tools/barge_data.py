"""Write the data of the model ``barge`` from a file of capytaine: hydrodynamic data, and the memory fitted to them.

python tools/barge_data.py tests/data/hydro/barge_deep.nc
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from kingpost.marine.hydro.fitting.files import write_memory
from kingpost.marine.hydro.fitting.fit import fit_memory
from kingpost.marine.hydro.formats.plain import write_plain
from kingpost.marine.hydro.reading import read_hydro

FOLDER = Path(__file__).parents[1] / "plugins" / "models" / "data"


def main(path: str) -> None:
    """Write both files."""
    data = replace(read_hydro(path), name="barge", source="box of 40 m x 12 m at 2.5 m draught, by capytaine 3.0")
    write_plain(data, FOLDER / "barge.npz")
    fit = fit_memory(data)
    write_memory(fit.memory, FOLDER / "barge_memory.npz", fit.summary)


if __name__ == "__main__":
    main(sys.argv[1])
