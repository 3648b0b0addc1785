"""The rooms of the house: what each is for, what it may import, where its tests are.

This table is the one place where that is said. From it come the README of every room, those of the three floors, and the table
in docs/architecture.md; a test walks all imports by it.

    python tools/rooms.py           say what is not as the table has it
    python tools/rooms.py --write   write the READMEs and the table
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Folders and the packages that they are mapped to.
FLOORS = {"core": "kingpost", "plugins": "kingpost.plugins", "fmu": "kingpost.fmu"}
FLOOR_PURPOSES = {
    "core": "mechanisms, equations, kernels, runs, results, fatigue, reports, plugin machinery, command line, conformance kit",
    "plugins": "Kingpost's own formulations, integrators, joint-load methods, forces, models and writers, registered in the "
    "`hooks.py` of each kind like anybody else's",
    "fmu": "FMUs in plain C and with Python inside, checks and runs of any FMU, co-simulation",
}
#: Modules that may lie on a floor without a room.
LOOSE = {"core": ("__init__", "__main__"), "plugins": ("__init__",), "fmu": ("__init__", "hooks")}
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: written by tools/rooms.py -->", "<!-- end of rooms -->"


@dataclass(frozen=True)
class Room:
    """A folder, what it is for, and what its modules may import apart from the room itself: in words, and all rooms by name."""

    place: str
    purpose: str
    rule: str
    may_import: frozenset[str]
    tests: str


ROOMS: dict[str, Room] = {}
#: A room may also import all that the room before this word may.
BELOW = " and below"
#: The rooms that most of the house may import, in one word.
CORE = "core but cli and testing"
FMU = "fmu but commands"


def room(place: str, purpose: str, *words: str, tests: str = "") -> None:
    """Add a room; it can import only rooms that stand in the table before it, so that there are no cycles."""
    allowed: set[str] = set()
    for word in words:
        if word == CORE:
            # The package itself is a door, too: its public names.
            allowed |= {"core"} | {name for name in ROOMS if name.startswith("core/")} - {"core/cli", "core/testing"}
        elif word == FMU:
            allowed |= {name for name in ROOMS if name.startswith("fmu/")}
        else:
            name = word.removesuffix(BELOW)
            allowed |= {name} | (ROOMS[name].may_import if word != name else set())
    ROOMS[place] = Room(place, purpose, ", ".join(words) or "nothing of ours", frozenset(allowed), tests or f"tests/{place}")


room("core/base", "what everything stands on: errors, formulas, fields, files, arrays, channels, the version")
room("core/registry", "plugins: what they look like, where they come from, how they are selected", "core/base")
room("core/symbols", "screws, joints, closures and linear algebra as CasADi expressions", "core/base")
room("core/kernel", "functions as machine code or in the interpreter, with a cache on disk", "core/base")
room("core/marine", "seas, and numbers in the axes of other marine tools", "core/base")
room(
    "core/mechanism",
    "what a machine is: bodies, joints, closures, forces, inputs, outputs, measures, parameters; no equations, no numerics",
    "core/base",
    "core/registry",
    "core/symbols",
)
room(
    "core/multibody",
    "from a mechanism to symbols: poses, twists, forces, constraints of a tree of bodies",
    "core/mechanism and below",
    "core/marine",
)
room(
    "core/equations",
    "the equations of motion in one descriptor form, and what is derived from them without more mechanics",
    "core/multibody and below",
    "core/kernel",
)
room(
    "core/modular",
    "systems assembled from subsystems: labelled matrices, orthogonal complements, Theorem 2.10, Table 4.1, direct "
    "linearisation",
    "core/equations and below",
)
room("core/vessels", "floating vessels from hydrodynamic data, as parts of a mechanism", "core/multibody and below")
room("core/loads", "the loads in joints, and ports where machines are coupled", "core/equations and below")
room("core/statics", "equilibria and small motions", "core/equations and below")
room("core/results", "histories and their files", "core/base", "core/registry", "core/mechanism")
room(
    "core/simulation",
    "problems posed, advanced and recorded; models that can be exported",
    "core/loads and below",
    "core/statics",
    "core/results",
)
room(
    "core/control",
    "servo-constraints, which inputs drive measures along a path, and optimal control, which do so at the least cost",
    "core/simulation and below",
)
room(
    "core/modelfiles",
    "mechanisms and how to run them from files: TOML, URDF, and by name",
    "core/simulation and below",
    "core/modular",
    "core/vessels",
)
room("core/fatigue", "ranges counted in histories, damage and lives", "core/results and below")
room(
    "core/studies",
    "many runs of one machine: their cases, where they run, what is kept of them, and what they say together",
    "core/modelfiles and below",
    "core/marine",
    "core/fatigue",
)
room(
    "core/gradients",
    "gradients of what runs compute: the way back along their steps, and through counted cycles",
    "core/simulation and below",
    "core/fatigue",
)
room("core/report", "a result as one HTML file", "core/fatigue and below", "core/marine")
room("core/closures", "a door: closures and their kinds", "core/mechanism", "core/symbols", tests="tests/core/mechanism")
room("core/waves", "a door: irregular seas", "core/marine", tests="tests/core/marine")
room(
    "core/gallery",
    "figures and tables of the documents made again, beside the numbers that survive in print, and pages of models",
    CORE,
)
room("core/cli", "the `kingpost` command line and the verbs of the core", CORE)
room("core/testing", "the conformance kit for plugins, and fixtures for their tests", CORE, "core/cli")

room("plugins/forces", "what acts on bodies and joints, and what moves beside them", "core/multibody and below", "core/modular")
room("plugins/formulations", "equations of motion", "core/equations and below")
room(
    "plugins/formalisms",
    "principles of mechanics, each with a road of its own to the accelerations of a machine",
    "core/equations and below",
    "plugins/formulations",
)
room(
    "plugins/integrators",
    "step maps and solvers, of which one is for quaternions alone",
    "core/equations and below",
    "plugins/formulations",
)
room("plugins/joint_loads", "ways to find the wrench in a joint", "core/loads and below", "plugins/formulations")
room("plugins/inverse_dynamics", "methods for servo-constraints, and their steppers", "core/control and below")
room(
    "plugins/optimal_control",
    "transcriptions of optimal control problems, terms of their cost, and solvers",
    "core/control and below",
    "core/fatigue",
)
room(
    "plugins/feedback",
    "controllers that keep a machine on the path of a servo task",
    "core/control and below",
    "plugins/inverse_dynamics",
    "plugins/forces",
)
room(
    "plugins/models",
    "machines that can be run by name",
    "core/mechanism and below",
    "core/marine",
    "core/modular",
    "core/vessels",
)
room("plugins/writers", "file formats for results", "core/results and below", "core/kernel")
room("plugins/samplers", "which cases a study has", "core/studies and below")
room("plugins/reducers", "what is kept of a run of a study", "core/studies and below")
room("plugins/executors", "where the cases of a study are run", "core/studies and below")

room("fmu/interface", "what a model shows to the outside, and how that is described", CORE)
room("fmu/file", "FMU files: reading them, and what variables they have", "core/base")
room(
    "fmu/process",
    "programs that run FMUs apart from ours: how they leave a trail, how they end, and a sandbox for those of strangers",
    "core/base",
)
room("fmu/instance", "FMUs at work: one instance, its functions, its log", "core/base", "fmu/file", "fmu/process")
room("fmu/running", "runs of FMUs, in a process of their own", CORE, "fmu/instance and below")
room("fmu/checks", "checks of FMUs, ours or not", CORE, "fmu/running and below")
room("fmu/blocks", "controllers and other blocks without mechanics", CORE, "fmu/interface")
room("fmu/export", "how a model becomes an FMU: in plain C, or with Python inside", CORE, "fmu/interface")
room("fmu/osp", "descriptions and systems for the Open Simulation Platform", CORE, "fmu/interface", "fmu/file")
room("fmu/cosim", "FMUs and machines side by side, advanced by a master", CORE, FMU)
room("fmu/live", "sessions that run at the pace of a clock, are changed on the way, and go back in time", CORE, FMU)
room("fmu/service", "`kingpost serve`: jobs over HTTP, a store that survives, executors, a page", CORE, "core/cli", FMU)
room("fmu/commands", "the verbs of this floor", CORE, "core/cli", FMU)


@dataclass(frozen=True)
class Import:
    """An import statement, at any depth, of something of ours."""

    path: Path
    line: int
    module: str

    def __str__(self) -> str:
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path.as_posix()}:{self.line} imports {self.module}"


@cache
def modules() -> dict[str, Path]:
    """Return every module of the three floors by its name."""
    found = {}
    for floor, package in FLOORS.items():
        for path in sorted((ROOT / floor).rglob("*.py")):
            parts = path.relative_to(ROOT / floor).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path
    return found


def room_of(module: str) -> str:
    """Return the room in which a module stands, or the floor on which it lies loose."""
    parts = module.split(".")[1:]
    floor = parts.pop(0) if parts[:1] in (["plugins"], ["fmu"]) else "core"
    place = f"{floor}/{parts[0]}" if parts else floor
    return place if place in ROOMS else floor


def imports(path: Path, module: str = "") -> Iterator[Import]:
    """Yield every import of something of ours in a file, lazy and typing ones included; names of modules as deep as they go."""
    known = modules()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            deep = [f"{base}.{alias.name}" for alias in node.names]
            names = list(dict.fromkeys(name if name in known else base for name in deep))
        else:
            continue
        yield from (Import(path, node.lineno, name) for name in names if name.split(".")[0] == "kingpost")


def breaches(module: str, path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield every import of a module that the table does not allow: the room it is in, what it imports, and a sentence."""
    here = room_of(module)
    # What lies loose opens doors to its own floor and to those below.
    below = list(FLOORS)[: list(FLOORS).index(here) + 1] if here in FLOORS else []
    rule = f"{', '.join(below)}" if below else ROOMS[here].rule
    for entry in imports(path, module):
        there = room_of(entry.module)
        allowed = there.partition("/")[0] in below if below else there in ROOMS[here].may_import
        if there != here and not allowed:
            yield here, entry.module, f"{entry}, but {here} may import only: {rule}"


def all_breaches() -> list[tuple[str, str, str]]:
    """Return the breaches of all modules."""
    return [breach for module, path in modules().items() for breach in breaches(module, path)]


def loose() -> list[str]:
    """Return the modules that lie on a floor without belonging there, and folders that the table does not know."""
    found = []
    for floor in FLOORS:
        for path in sorted((ROOT / floor).iterdir()):
            place = path.relative_to(ROOT).as_posix()
            if path.suffix == ".py" and path.stem not in LOOSE[floor]:
                found.append(f"{place} lies loose; give it a room")
            if path.is_dir() and any(path.glob("*.py")) and place not in ROOMS:
                found.append(f"{place} is a room that tools/rooms.py does not know")
    lacking = [place for place in ROOMS if not (ROOT / place / "__init__.py").is_file()]
    return found + [f"{place} is in tools/rooms.py, but there is no {place}/__init__.py" for place in lacking]


def table() -> str:
    """Return the table of docs/architecture.md."""
    rows = ["| room | for | may import |", "|---|---|---|"]
    rows += [f"| `{room.place}` | {room.purpose} | {room.rule} |" for room in ROOMS.values()]
    return "\n".join(rows)


def texts() -> dict[Path, str]:
    """Return every file that follows from the table, with what it should hold."""
    found = {
        ROOT / room.place / "README.md": f"- For: {room.purpose}.\n- May import: {room.rule}.\n- Tests: `{room.tests}`.\n"
        for room in ROOMS.values()
    }
    for floor, package in FLOORS.items():
        rooms = [room for room in ROOMS.values() if room.place.startswith(f"{floor}/")]
        found[ROOT / floor / "README.md"] = (
            f"# {floor} → `import {package}`\n\nFor: {FLOOR_PURPOSES[floor]}.\n\n| room | for |\n|---|---|\n"
            + "".join(f"| [{room.place}](../{room.place}) | {room.purpose} |\n" for room in rooms)
            + "\nWhat each may import is in [docs/architecture.md](../docs/architecture.md).\n"
        )
    page = PAGE.read_text(encoding="utf-8")
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} lacks the lines '{BEGIN}' and '{END}', between which the table belongs")
    found[PAGE] = f"{head}{BEGIN}\n{table()}\n{END}{tail}"
    return found


def stale() -> list[str]:
    """Return the files that differ from what follows from the table."""
    return [
        f"{path.relative_to(ROOT).as_posix()} is not as the table has it; run: python tools/rooms.py --write"
        for path, text in texts().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """Write, or say what is wrong."""
    if "--write" in sys.argv[1:]:
        for path, text in texts().items():
            path.write_text(text, encoding="utf-8", newline="\n")
        return 0
    wrong = [*loose(), *(sentence for _, _, sentence in all_breaches()), *stale()]
    print("\n".join(wrong) or f"{len(ROOMS)} rooms, all as the table has it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
