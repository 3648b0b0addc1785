"""Plugins in files, and plugins that seem to be installed."""

import sys
import textwrap
from importlib.metadata import Distribution, EntryPoint

import pytest

import kingpost.registry.pluginset
from tests.core.registry.plugin_text import PLUGIN


@pytest.fixture
def plugin_file(tmp_path):
    def write(text=PLUGIN, name="plugin.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Pretend that distributions with an entry point are installed: installed(foo="module text")."""

    class Pretended(Distribution):
        def __init__(self, name):
            self._name = name

        def read_text(self, filename):
            return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: 1.2.3\n" if filename == "METADATA" else None

        def locate_file(self, path):
            return tmp_path / path

    def install(**modules):
        points = []
        monkeypatch.syspath_prepend(str(tmp_path))
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
            monkeypatch.delitem(sys.modules, name, raising=False)
            point = EntryPoint(name=name, value=name, group="kingpost")
            points.append(point._for(Pretended(f"kingpost-{name}")))
        monkeypatch.setattr(kingpost.registry.pluginset.importlib.metadata, "entry_points", lambda group: points)

    return install
