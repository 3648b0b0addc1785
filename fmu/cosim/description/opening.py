"""A system from a file of any kind that is understood."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kingpost.fmu.cosim.description.system_file import SystemFile, read_system_file
from kingpost.registry.pluginset import PluginSet


@contextmanager
def open_system(path: str | Path, plugins: PluginSet | None = None) -> Iterator[SystemFile]:
    """Give the system in a file, for as long as it is needed.

    It is TOML, an SSP archive (.ssp), a bare structure of SSP (.ssd), or an OspSystemStructure.xml (.xml, or its folder).
    """
    path, plugins = Path(path), plugins or PluginSet()
    kind = path.suffix.lower()
    if kind == ".ssp":
        from kingpost.fmu.cosim.description.ssp.reading import open_ssp

        with open_ssp(path) as system:
            yield SystemFile(path, system, plugins)
    elif kind == ".ssd":
        from kingpost.fmu.cosim.description.ssp.reading import read_ssd

        yield SystemFile(path, read_ssd(path), plugins)
    elif kind == ".xml" or path.is_dir():
        from kingpost.fmu.cosim.description.osp import read_osp

        yield SystemFile(path, read_osp(path), plugins)
    else:
        yield read_system_file(path, plugins)
