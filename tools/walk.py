"""The four roads of docs/architecture.md, followed; and how many files lie between ``kingpost run`` and the equation of motion.

python tools/walk.py           print the walk of a number and its length
python tools/walk.py --roads   print all roads, and how each file is reached
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from rooms import PAGE, ROOT, imports, modules

#: Where the walk of a number begins and ends, and how many files a reader may have to open for it.
FIRST, LAST, MOST = "core/cli/run.py", "plugins/formulations/kane.py", 10


def roads() -> dict[str, list[str]]:
    """Return the files of each road, by its heading."""
    page = PAGE.read_text(encoding="utf-8").partition("\n## Four roads\n")[2].partition("\n## ")[0]
    found: dict[str, list[str]] = {}
    for heading, text in re.findall(r"^### (.+?)\n(.*?)(?=^### |\Z)", page, flags=re.M | re.S):
        found[heading] = re.findall(r"^\d+\. `([^`]+)`", text, flags=re.M)
    return found


def module_of(place: str) -> str:
    """Return the module that a file is."""
    return next((module for module, path in modules().items() if path == ROOT / place), "")


def link(before: str, after: str) -> str:
    """Return how a reader gets from one file to another, or an empty string."""
    known = modules()
    here, there = module_of(before), module_of(after)
    for entry in imports(known[here], here):
        if entry.module == there:
            return f"imported by {before}, line {entry.line}"
        door = known.get(entry.module)
        if door is not None and door.name == "__init__.py" and there in {inner.module for inner in imports(door, entry.module)}:
            return f"imported by {before}, line {entry.line}, through {entry.module}"
    if there in plugins_of(here):
        return f"a plugin of the kind whose interface is {before}"
    if f'"{there}"' in known[here].read_text(encoding="utf-8"):
        return f"started by {before}"
    return ""


@cache
def plugins_of(interface: str) -> set[str]:
    """Return the modules that bring built-in plugins of the kind whose base class stands in a module."""
    from kingpost import PluginSet

    plugins = PluginSet(entry_points=False)
    for kind in plugins.kinds.values():
        if kind.interface.partition(":")[0] == interface:
            return {cls.__module__ for cls, _ in plugins.of(kind.name).entries()}
    return set()


def steps(road: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the files of a road after the first, and how each is reached from the latest one before it that leads there."""
    for place, after in enumerate(road[1:], start=1):
        if not (ROOT / after).is_file():
            yield after, ""
            continue
        earlier = [before for before in reversed(road[:place]) if (ROOT / before).is_file()]
        yield after, next((how for before in earlier if (how := link(before, after))), "")


def walk() -> list[str]:
    """Return the files from the verb to the equation of motion, in the order of the road ``Run``."""
    road = roads()["Run"]
    return road[road.index(FIRST) : road.index(LAST) + 1]


def main() -> int:
    """Print the walk, or all roads; the exit status is 1 if one leads nowhere or the walk is too long."""
    shown = roads() if "--roads" in sys.argv[1:] else {"from kingpost run to the equation of motion": walk()}
    lost = False
    for heading, road in shown.items():
        print(heading)
        print(f"  {road[0]}")
        for place, how in steps(road):
            print(f"  {place}: {how or 'NOT REACHED'}")
            lost = lost or not how
        print(f"  {len(road)} files\n")
    return 1 if lost or len(walk()) > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
