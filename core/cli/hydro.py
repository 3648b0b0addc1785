"""``kingpost hydro``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import FileError, KingpostError, listed
from kingpost.cli.command import Command
from kingpost.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from kingpost.marine.hydro.checks import Check
    from kingpost.marine.hydro.cleaning import Cleaned
    from kingpost.marine.hydro.data import HydroData
    from kingpost.registry.pluginset import PluginSet

#: Options of readers by the name of the flag; those of no value are not handed on.
OPTIONS = ("rho", "g", "ulen", "depth", "reference", "column", "weight", "volume", "cog", "body", "name")


class Hydro(Command):
    """Show, check and convert hydrodynamic data of a hull: added mass, damping, wave forces, motions, restoring, drift.

    Reads NetCDF files of capytaine, WAMIT's numeric files (any one of NAME.1, .3, .hst, ... brings the others), folders of
    NEMOH and HAMS, and Kingpost's plain .npz and .csv. What the files do not say must be given; what does not fit is refused.
    Checks: added mass against damping (Kramers-Kronig), damping against wave forces (Haskind), symmetry, cut-off, long waves,
    motions.
    """

    name = "hydro"
    example = "kingpost hydro barge.1 --rho 1025 --g 9.81 --ulen 1 --reference 0,0,1 --depth inf --to barge.npz"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE|DIR", help="file or folder with the data")
        said = parser.add_argument_group("what the files do not say")
        said.add_argument("--rho", type=float, metavar="KG/M3", help="density of water")
        said.add_argument("--g", type=float, metavar="M/S2", help="gravity")
        said.add_argument("--ulen", type=float, metavar="M", help="length by which WAMIT's files are scaled (ULEN)")
        said.add_argument("--depth", type=float, metavar="M", help="depth of water, 'inf' for deep water")
        said.add_argument("--reference", type=_point, metavar="X,Y,Z", help="point about which the file has its moments")
        said.add_argument(
            "--column",
            metavar="NAME",
            help="first column of WAMIT's files: period, frequency, deep-wavenumber, wavenumber (both times ULEN), wavelength",
        )
        said.add_argument("--weight", choices=("yes", "no"), help="whether the stiffness in .hst holds the weight")
        said.add_argument("--volume", type=float, metavar="M3", help="displaced volume")
        said.add_argument("--cog", type=_point, metavar="X,Y,Z", help="centre of gravity")
        said.add_argument("--body", metavar="NAME|NUMBER", help="which body, where there are several")
        said.add_argument("--name", metavar="NAME", help="name of the hull")
        done = parser.add_argument_group("what is done")
        done.add_argument(
            "--about",
            type=_point,
            metavar="X,Y,Z",
            help="move moments and motions to another point (--about=-1,0,0 if it begins with a minus)",
        )
        done.add_argument("--clean", action="store_true", help="hand the cleaned data on: to --to and --plot")
        done.add_argument("--to", type=Path, metavar="FILE", help="write the data as .npz or .csv")
        done.add_argument("--plot", type=Path, metavar="FILE", help="draw them as .png, .svg or .pdf (needs the 'viz' extra)")
        done.add_argument("--fit", action="store_true", help="fit the radiation memory, and say how good it is and what floats")
        done.add_argument("--memory", type=Path, metavar="FILE", help="write the fitted memory as .npz, for 'memory_file'")
        done.add_argument("--json", action="store_true", help="print JSON")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.cli import hydro_fit
        from kingpost.marine.hydro.checks import check
        from kingpost.marine.hydro.cleaning import clean
        from kingpost.marine.hydro.reading import format_of, read_hydro

        _check_targets(arguments)
        hydro_fit.check_memory_target(arguments.memory)
        path = Path(arguments.file)
        with _flags():
            data = read_hydro(path, **_given(arguments))
            if arguments.about is not None:
                data = data.about(arguments.about)
        cleaned, checks = clean(data), check(data)
        made = cleaned.data if arguments.clean else data
        report = afloat = None
        if arguments.fit or arguments.memory is not None:
            report, afloat = hydro_fit.fitted(made, arguments.memory)[1], hydro_fit.floats(made)
        written = _written(arguments, made)
        if arguments.memory is not None:
            written["memory"] = str(arguments.memory)
        if arguments.json:
            found = _record(made, format_of(path).name, cleaned, checks, written)
            print_json(found | ({} if report is None else {"fit": hydro_fit.record(report, afloat)}))
        else:
            _print(made, format_of(path).name, cleaned, checks, written, arguments.clean)
            if report is not None:
                print_text("\n" + hydro_fit.text(report, afloat))
        return 0


@contextmanager
def _flags() -> Iterator[None]:
    """Name options in errors as the command line does."""
    try:
        yield
    except KingpostError as error:
        text = str(error).replace("'centre_of_gravity'", "--cog")
        for key in OPTIONS:
            text = text.replace(f"'{key}'", f"--{key}")
        raise type(error)(text) from None


def _point(text: str) -> tuple[float, float, float]:
    words = text.split(",")
    try:
        x, y, z = (float(word) for word in words)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a point; expected three numbers in m with commas, e.g. 0,0,1.5"
        ) from None
    if not all(map(math.isfinite, (x, y, z))):
        raise argparse.ArgumentTypeError(f"'{text}' is not a point with finite coordinates")
    return x, y, z


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given, by the names that readers have for them."""
    found = {key: getattr(arguments, key) for key in OPTIONS if getattr(arguments, key) is not None}
    for key in ("rho", "g", "ulen", "depth", "volume"):
        if key in found and not found[key] > 0:
            raise FileError(f"--{key} {found[key]:g} must be positive")
    if "weight" in found:
        found["weight"] = found["weight"] == "yes"
    if "cog" in found:
        found["centre_of_gravity"] = found.pop("cog")
    return found


def _check_targets(arguments: argparse.Namespace) -> None:
    """Refuse targets that cannot be written before anything is read."""
    from kingpost.marine.hydro.formats.plain import WRITTEN
    from kingpost.marine.hydro.pictures import FORMATS, check_installed

    if arguments.to is not None and arguments.to.suffix.lower() not in WRITTEN:
        raise FileError(f"--to {arguments.to}: the name must end in one of {listed(WRITTEN)}")
    if arguments.plot is not None:
        check_installed()
        if arguments.plot.suffix.lower() not in FORMATS:
            raise FileError(f"--plot {arguments.plot}: a picture's name must end in one of {listed(FORMATS)}")


def _written(arguments: argparse.Namespace, data: HydroData) -> dict[str, str]:
    from kingpost.base.files import write_whole
    from kingpost.marine.hydro.formats.plain import write_plain
    from kingpost.marine.hydro.pictures import draw, save

    written = {}
    if arguments.to is not None:
        write_plain(data, arguments.to)
        written["data"] = str(arguments.to)
    if arguments.plot is not None:
        write_whole(arguments.plot, partial(save, draw(data)))
        written["picture"] = str(arguments.plot)
    return written


def _print(
    data: HydroData, kind: str, cleaned: Cleaned, checks: tuple[Check, ...], written: dict[str, str], cleaning: bool
) -> None:
    print_table([("hull", data.name), ("format", kind), *_rows(data)])
    print()
    for each in checks:
        print_table([(f"{each.name:<11}", "well" if each.well else "LOOK", each.what), ("", "", _percent(each.values))])
    if data.notes:
        print("\nread:")
        for note in data.notes:
            print_text(f"- {note}")
    if cleaned.changes:
        print("\ncleaning did:" if cleaning else "\ncleaning would say (--clean does it):")
        for change in cleaned.changes:
            print_text(f"- {change.sentence}")
    if written:
        print()
        print_table(list(written.items()))


def _percent(values: dict[str, float]) -> str:
    return listed(f"{name} {value:+.2%}" if value < 0 else f"{name} {value:.2%}" for name, value in values.items())


def _rows(data: HydroData) -> list[tuple[str, str]]:
    from kingpost.marine.hydro.checks import stability

    w, headings = data.frequencies, [math.degrees(each) for each in data.headings]
    limits = [word for word, limit in (("0", data.added_mass_zero), ("inf", data.added_mass_inf)) if limit is not None]
    rows = [
        ("frequencies", f"{len(w)}, {w[0]:.4g} to {w[-1]:.4g} rad/s; limits of the added mass: {listed(limits)}"),
        ("headings", f"{len(headings)}: {listed((f'{each:.4g}' for each in headings), most=12)} deg" if headings else "none"),
        ("water", f"{data.water_density:g} kg/m3, gravity {data.gravity:g} m/s2, {_depth(data)}"),
        ("moments about", _shown(data.reference)),
        ("holds", listed(_held(data))),
    ]
    if data.centre_of_gravity is not None:
        rows.append(("centre of gravity", _shown(data.centre_of_gravity)))
    if data.volume is not None:
        rows.append(("displacement", f"{data.volume:.6g} m3, {data.volume * data.water_density:.6g} kg"))
    if data.restoring is not None:
        weight = "with" if data.restoring_has_weight else "without"
        C = data.restoring
        rows.append(("restoring", f"{weight} weight: C33 {C[2, 2]:.5g} N/m, C44 {C[3, 3]:.5g}, C55 {C[4, 4]:.5g} N m/rad"))
        heights = stability(data)
        words = listed(f"{key} {value:.4g} m" for key, value in heights.items())
        rows.append(("metacentric heights", words if heights else "not known: displacement or centre of gravity is not"))
    return rows


def _depth(data: HydroData) -> str:
    return "deep" if math.isinf(data.depth) else f"{data.depth:g} m deep"


def _shown(point: Any) -> str:
    return f"({', '.join(f'{x:.6g}' for x in point)}) m"


def _held(data: HydroData) -> list[str]:
    names = ("excitation", "motions", "restoring", "inertia", "drift")
    return ["added mass", "damping", *(name for name in names if getattr(data, name) is not None)]


def _record(data: HydroData, kind: str, cleaned: Cleaned, checks: tuple[Check, ...], written: dict[str, str]) -> dict[str, Any]:
    from kingpost.marine.hydro.checks import stability

    return {
        "name": data.name,
        "format": kind,
        "source": data.source,
        "frequencies": data.frequencies.tolist(),
        "headings": data.headings.tolist(),
        "reference": data.reference.tolist(),
        "water_density": data.water_density,
        "gravity": data.gravity,
        "depth": None if math.isinf(data.depth) else data.depth,
        "holds": _held(data),
        "volume": data.volume,
        "metacentric_heights": stability(data),
        "checks": [asdict(each) | {"well": each.well} for each in checks],
        "notes": list(data.notes),
        "cleaning": [asdict(each) for each in cleaned.changes],
        "written": written,
    }
