"""Where the files are, and what must be said of them."""

from functools import cache
from pathlib import Path

from kingpost.marine.hydro.data import HydroData
from kingpost.marine.hydro.reading import read_hydro

FOLDER = Path(__file__).parents[3] / "data" / "hydro"
PUBLIC = FOLDER / "public"
BARGE = {"rho": 1025.0, "g": 9.81, "ulen": 1.0, "reference": (0, 0, 1.0), "depth": float("inf")}
HEMISPHERE = {**BARGE, "reference": (0, 0, 0.0)}
SPHERE = {"rho": 1000.0, "reference": (0, 0, -2.0), "depth": 50.0}


@cache
def barge() -> HydroData:
    return read_hydro(FOLDER / "barge_deep.nc")


@cache
def hemisphere() -> HydroData:
    return read_hydro(FOLDER / "hemisphere_r5.nc")
