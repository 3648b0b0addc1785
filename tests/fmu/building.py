"""FMUs for the tests: compiled from C, with one defect each, or built by stock pythonfmu."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import fmpy
import pytest

SOURCES = Path(__file__).parent / "sources"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
CO_SIMULATION = (
    '<CoSimulation modelIdentifier="oscillator" canHandleVariableCommunicationStepSize="true" canGetAndSetFMUstate="true" '
    'canSerializeFMUstate="true" providesDirectionalDerivative="true"/>'
)
MODEL_EXCHANGE = (
    '<ModelExchange modelIdentifier="oscillator" completedIntegratorStepNotNeeded="true" canGetAndSetFMUstate="true" '
    'canSerializeFMUstate="true" providesDirectionalDerivative="true"/>'
)


#: Where compiled libraries lie until the process ends.
LIBRARIES = tempfile.TemporaryDirectory(prefix="kingpost-tests-")


@functools.cache
def _library(source: str, *defects: str) -> Path:
    assert COMPILER is not None
    path = Path(LIBRARIES.name) / f"{source}-{'-'.join(defects) or 'clean'}{fmpy.sharedLibraryExtension}"
    include = Path(fmpy.__file__).parent / "c-code"
    subprocess.run(
        [COMPILER, "-O0", "-shared", "-fPIC", "-w", f"-I{include}", *(f"-D{defect}" for defect in defects)]
        + [str(SOURCES / f"{source}.c"), "-lm", "-o", str(path)],
        check=True,
    )
    return path


def oscillator(
    folder: Path,
    *defects: str,
    interfaces: Sequence[str] = (CO_SIMULATION,),
    change: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Path:
    """Return an FMI 2 oscillator with these defects; ``change`` replaces text in its description, ``extra`` adds files."""
    description = (SOURCES / "oscillator2.xml").read_text(encoding="utf-8").replace("<!-- interfaces -->", "".join(interfaces))
    for old, new in (change or {}).items():
        assert old in description
        description = description.replace(old, new)
    library = _library("oscillator2", *sorted(defects))
    path = folder / f"{name or '-'.join(['oscillator', *defects]).lower()}.fmu"
    return _packed(path, description, library, f"binaries/{fmpy.platform}", extra)


def relay(folder: Path, name: str = "relay", change: Mapping[str, str] | None = None) -> Path:
    """Return an FMI 2 slave that passes on what it gets, in every type: y = k u + a, and copies; see sources/relay2.xml."""
    description = (SOURCES / "relay2.xml").read_text(encoding="utf-8")
    for old, new in (change or {}).items():
        assert old in description
        description = description.replace(old, new)
    return _packed(folder / f"{name}.fmu", description, _library("relay2"), f"binaries/{fmpy.platform}", None)


def hostile(folder: Path, *deeds: str, name: str = "hostile") -> Path:
    """Return an FMI 2 slave that does these deeds in its first step; see sources/hostile2.c."""
    description = (SOURCES / "hostile2.xml").read_text(encoding="utf-8").replace("deeds}", f"{'; '.join(deeds)}}}")
    return _packed(folder / f"{name}.fmu", description, _library("hostile2"), f"binaries/{fmpy.platform}", None)


def oscillator3(folder: Path, *defects: str) -> Path:
    """Return the FMI 3 oscillator."""
    description = (SOURCES / "oscillator3.xml").read_text(encoding="utf-8")
    library = _library("oscillator3", *sorted(defects))
    path = folder / f"{'-'.join(['oscillator3', *defects]).lower()}.fmu"
    return _packed(path, description, library, f"binaries/{fmpy.platform_tuple}", None)


def oscillator1(folder: Path, change: Mapping[str, str] | None = None, name: str = "oscillator1") -> Path:
    """Return the FMI 1.0 oscillator."""
    description = (SOURCES / "oscillator1.xml").read_text(encoding="utf-8")
    for old, new in (change or {}).items():
        assert old in description
        description = description.replace(old, new)
    return _packed(folder / f"{name}.fmu", description, _library("oscillator1"), f"binaries/{fmpy.platform}", None)


def _packed(path: Path, description: str, library: Path, binaries: str, extra: Mapping[str, str] | None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", description)
        archive.write(library, f"{binaries}/oscillator{fmpy.sharedLibraryExtension}")
        archive.writestr("resources/note.txt", "nothing is needed here\n")
        for name, text in (extra or {}).items():
            archive.writestr(name, text)
    return path


def slave(folder: Path, name: str, body: str, **options: bool) -> Path:
    """Build a slave with stock pythonfmu; ``name`` is that of its module, which must be its own for every FMU."""
    script = folder / f"{name}.py"
    script.write_text(
        "import time\nfrom pythonfmu import Boolean, Fmi2Causality, Fmi2Slave, Integer, Real, String\n\n\n"
        + textwrap.dedent(body),
        encoding="utf-8",
    )
    # In a process of its own: the builder imports the module and leaves the search path changed.
    code = f"from pythonfmu.builder import FmuBuilder; FmuBuilder.build_FMU({str(script)!r}, {str(folder)!r}, **{options!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    return folder / f"{name.title()}.fmu"


def first_order(folder: Path, name: str, step: str, start: str = "pass", **options: bool) -> Path:
    """Build a slave with an input u, an output y and the given body of its step."""
    body = f"""
    class {name.title()}(Fmi2Slave):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.u, self.y = 0.0, 1.0
            {start}
            self.register_variable(Real("u", causality=Fmi2Causality.input))
            self.register_variable(Real("y", causality=Fmi2Causality.output))

        def do_step(self, current_time, step_size):
            {step}
            return True
    """
    return slave(folder, name, body, **options)
