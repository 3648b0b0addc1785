"""Choosing what advances a model on this machine: the compiled library if it can be loaded, else the package in the FMU."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.fmu.export.python.runtime.engine import ERROR, OK, WARNING, Engine, EngineError
from kingpost.fmu.export.python.runtime.importing import adopt, check_distributions, check_requirements, install
from kingpost.fmu.export.python.runtime.library import Library, this_platform

if TYPE_CHECKING:
    from collections.abc import Callable

    Say = Callable[[int, str], Any]
#: The name that the exporter gave to these files.
NAME = __name__.split(".")[0]
#: What was read, and what makes instances, if that is known. Kept, so that later ones need not the folder of the first one.
_manifests: list[Manifest] = []
_makers: list[Callable[[], Engine]] = []


class Manifest:
    """What the exporter wrote down."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.model: str = data["model"]
        self.token: str = data["token"]
        self.names: list[str] = data["names"]
        self.first: dict[str, int] = data["first"]


def read_manifest(resources: str) -> Manifest:
    """Return what the exporter wrote down for the FMU whose resources are in a folder."""
    if not _manifests:
        text = Path(resources, NAME, "manifest.json").read_text(encoding="utf-8")
        _manifests.append(Manifest(json.loads(text)))
    return _manifests[0]


def open_engine(manifest: Manifest, resources: str, say: Say) -> Engine:
    """Return a new instance of the model."""
    if not _makers:
        _makers.append(_choose(manifest, Path(resources), say))
    engine = _makers[0]()
    say(OK, f"'{manifest.model}' runs with: {engine.label}")
    return engine


def _choose(manifest: Manifest, resources: Path, say: Say) -> Callable[[], Engine]:
    library = manifest.data["library"]
    reason = library["why_not"]
    if not reason:
        try:
            return _library(library["files"], resources, manifest.token).engine
        except (OSError, AttributeError) as error:
            reason = str(error)
            say(WARNING, f"the compiled library cannot be used here, so the model runs in Python, more slowly: {reason}")
    package = manifest.data["package"]
    if package["why_not"]:
        raise EngineError(
            ERROR,
            f"'{manifest.model}' has no engine that works on {this_platform()}. Compiled library: {reason}. In Python: "
            f"{package['why_not']}. Export it again for this platform",
            deadly=True,
        )
    return _package(manifest, resources, reason, say)


def _library(files: dict[str, str], resources: Path, token: str) -> Library:
    own = this_platform()
    if own not in files:
        raise OSError(f"the FMU holds one for {', '.join(sorted(files)) or 'no platform'}, and this is {own}")
    return Library(resources / NAME / files[own], token)


def _package(manifest: Manifest, resources: Path, reason: str, say: Say) -> Callable[[], Engine]:
    """Return what makes instances in Python, from the package and the plugins that travel in the FMU."""
    package = manifest.data["package"]
    check_requirements(package["requires"], package["python"], manifest.model)
    check_distributions(package["distributions"], manifest.model)
    install(package["name"], resources / package["name"])
    for needed in package["distributions"]:
        adopt(needed["module"], needed["private"], {"kingpost": package["name"], needed["module"]: needed["private"]})
    rebuilding = importlib.import_module(package["name"] + ".fmu.export.python.runtime.rebuilding")
    plugins = [str(resources / NAME / name) for name in package["plugins"]]
    compiled = package["files"].get(this_platform())
    library = None if compiled is None else str(resources / NAME / compiled)
    try:
        maker: Callable[[], Engine] = rebuilding.build(manifest.data, plugins, library, reason)
    except RuntimeError as error:  # CasADi's word for a library that cannot be loaded
        if library is None:
            raise
        say(WARNING, f"the compiled equations cannot be used here, so the model runs more slowly: {error}")
        maker = rebuilding.build(manifest.data, plugins, None, reason)
    return maker
