"""Pages of all public names, from their docstrings, which Sphinx reads."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import kingpost
import kingpost.fmu
from docsite.text import from_docstring, table

FOLDER = "reference/api"
#: The names of the package itself by the room that they come from: title, and the rooms.
TOPICS = {
    "machines": ("Machines", ("mechanism", "vessels", "modular", "base.fields", "base.formulas")),
    "files": ("Files of models and results", ("modelfiles", "results")),
    "runs": ("Runs", ("simulation", "equations", "studies", "base.version")),
    "statics": ("Equilibria and small motions", ("statics",)),
    "loads": ("Loads and forces", ("loads", "multibody")),
    "control": ("Paths, controllers and optimal control", ("control",)),
    "gradients": ("Gradients", ("gradients",)),
    "marine": ("Seas and hulls", ("marine",)),
    "plugins": ("Plugins and commands", ("registry", "cli")),
    "errors": ("Errors", ("base.errors",)),
}

#: Names that guides lead to in modules that are no doors: base classes of plugins, and what has one use. By module.
INNER = {
    "base.channels": "Channel",
    "control.optimal.counted": "CountedTerm",
    "control.servo.index.analysis": "analyse",
    "control.servo.index.refusals": "refuse_if_impossible",
    "control.servo.posing": "pose_servo",
    "equations.measures": "measure_expression",
    "equations.tree_equations": "tree_equations",
    "fmu.cosim.masters.interface": "Master",
    "fmu.service.client": "Client",
    "gallery.pages": "write_pages",
    "marine.hydro.checks": "check",
    "marine.hydro.cleaning": "clean",
    "mechanism.paths": "Chain Line Turn",
    "mechanism.trajectories": "Joined RestToRest ThreePhase",
    "modular.linearisation": "linearise_directly",
    "modular.planar": "base plane_assembly revolute rigid_body",
    "multibody.assembly": "assemble",
    "multibody.tree": "TreeKinematics",
    "results.metadata": "to_text",
    "simulation.problem": "derive",
    "studies.cluster_script": "slurm_script",
    "studies.executor": "Executor",
    "studies.persistence": "weather_windows",
    "studies.planning": "plan_study",
    "studies.reducer": "Reducer",
    "studies.running": "carry_out",
    "studies.sampler": "Sample Sampler",
    "studies.sea_series": "read_sea_series",
    "studies.store": "Store",
    "studies.study_file": "read_study",
    "studies.summary.summary": "summarise",
    "symbols.screws": "shift_twist",
    "vessels.loading": "hull_without",
    "vessels.machine": "loading_of",
}


def modules() -> list[str]:
    """Return the packages below kingpost that have public names of their own."""
    found = []
    # In a checkout that is installed as editable, the three folders are apart.
    for package in (kingpost, kingpost.fmu):
        for info in [None, *pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]:
            name = package.__name__ if info is None else info.name
            if (info is None or info.ispkg) and name != "kingpost" and not name.startswith("kingpost.plugins"):
                found += [name] if getattr(importlib.import_module(name), "__all__", None) else []
    return list(dict.fromkeys(found))


def pages() -> dict[str, str]:
    """Return a page for every topic of the package and for every sub-package with public names."""
    made, rows = {}, []
    known: dict[int, str] = {}
    for slug, (title, names) in _topics().items():
        blocks = [_directive("kingpost", name, known) for name in names]
        made[f"{FOLDER}/{slug}.md"] = f"# {title}\n\n" + "\n".join(blocks)
        rows.append((f"[{title}]({slug}.md)", ", ".join(f"{{py:obj}}`~kingpost.{name}`" for name in names)))
    for name in modules():
        module = importlib.import_module(name)
        slug = name.replace(".", "-")
        summary = (inspect.getdoc(module) or "").split("\n\n")[0]
        head = f"# {name}\n\n{from_docstring(summary)}\n\n"
        blocks = [_directive(name, each, known) for each in sorted(module.__all__, key=str.lower)]
        made[f"{FOLDER}/{slug}.md"] = head + "\n".join(blocks)
        rows.append((f"[{name}]({slug}.md)", from_docstring(summary)))
    blocks = [f"## kingpost.{module}\n\n" + "\n".join(_inner(module, known)) for module in INNER]
    made[f"{FOLDER}/inner.md"] = (
        "# Names of inner modules\n\nNames that the guides lead to, in modules that have others beside them.\n\n"
        + "\n".join(blocks)
    )
    rows.append(("[Names of inner modules](inner.md)", "base classes of some plugins, and what guides use once"))
    made[f"{FOLDER}/index.md"] = (
        "# Python\n\nAll public names, by what they are for. Those of the package itself are imported as "
        "`from kingpost import simulate`.\n\n" + table(("page", "names"), rows)
    )
    return made


def _inner(module: str, known: dict[int, str]) -> list[str]:
    return [_directive(f"kingpost.{module}", name, known) for name in INNER[module].split()]


def _topics() -> dict[str, tuple[str, list[str]]]:
    """Return title and names of every topic; a name without a topic is a fault."""
    topics: dict[str, tuple[str, list[str]]] = {slug: (title, []) for slug, (title, _) in TOPICS.items()}
    for place, names in {**kingpost.PLACES, "base.version": ("__version__",)}.items():
        (slug,) = (slug for slug, (_, rooms) in TOPICS.items() if any(f"{place}.".startswith(f"{room}.") for room in rooms))
        topics[slug][1].extend(names)
    return {
        slug: (title, sorted(names, key=lambda name: (name.islower(), name.lower()))) for slug, (title, names) in topics.items()
    }


def _directive(module: str, name: str, known: dict[int, str]) -> str:
    """Return what makes Sphinx document a name; one that it documents elsewhere is a link."""
    value = getattr(importlib.import_module(module), name)
    full = f"{module}.{name}"
    if id(value) in known and (isinstance(value, type) or callable(value)):
        return f"`{full}` is {{py:obj}}`{known[id(value)]}`.\n"
    known[id(value)] = full
    if isinstance(value, type):
        return _block(f"autoclass:: {full}", *([":members:"] if not issubclass(value, Exception) else []))
    if inspect.isroutine(value) or hasattr(value, "__wrapped__"):
        return _block(f"autofunction:: {full}")
    return _block(f"py:data:: {full}", "", _described(value))


def _block(directive: str, *lines: str) -> str:
    inside = "\n".join(f"   {line}" if line else "" for line in lines)
    return f"```{{eval-rst}}\n.. {directive}\n{inside}\n```\n"


def _described(value: Any) -> str:
    shown = " ".join(repr(value).split())
    kind = type(value).__name__
    return f"A ``{kind}``: ``{shown}``." if len(shown) < 120 and "`" not in shown else f"A ``{kind}``."
