"""Readers of archives: FMUs and SSP, and of systems that name such files."""

from __future__ import annotations

import functools
import io
import math
import random
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import fmpy
import numpy as np

from kingpost.fmu.checks import archive_and_xml
from kingpost.fmu.cosim.components.fmu import open_component
from kingpost.fmu.cosim.description.opening import open_system
from kingpost.fmu.cosim.description.ssp.package import STRUCTURE
from kingpost.fmu.cosim.description.system import Component
from kingpost.fmu.cosim.description.system_file import read_system_file
from kingpost.fmu.cosim.plan import Plan
from kingpost.fmu.file.opened import ANNOTATION, DESCRIPTION, open_fmu
from kingpost.fmu.file.variables import recorded, start_settings, variables_of
from kingpost.fmu.running.experiment import experiment
from kingpost.fmu.running.inputs import input_table
from kingpost.results.read_write import read_history
from tests.fmu.building import CO_SIMULATION, MODEL_EXCHANGE, SOURCES
from tests.fuzz.mutations import Form, damaged
from tests.fuzz.table import Damage, reader, seeds
from tests.fuzz.texts import answer, placed, plugins


def zipped(members: Mapping[str, bytes]) -> bytes:
    """Return an archive; its bytes depend on nothing else."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _description(version: int) -> bytes:
    text = (SOURCES / f"oscillator{version}.xml").read_text(encoding="utf-8")
    # Without a unit, the force takes any output.
    return text.replace("<!-- interfaces -->", CO_SIMULATION + MODEL_EXCHANGE).replace(' unit="N"', "").encode()


#: A binary, of which nothing is run.
BINARIES = {
    f"binaries/{folder}/oscillator{fmpy.sharedLibraryExtension}": b"" for folder in (fmpy.platform, fmpy.platform_tuple)
}
FMUS = [{DESCRIPTION: _description(version), ANNOTATION: seeds("kingpost.json")[0], **BINARIES} for version in (2, 3)]
SSP = {
    STRUCTURE: seeds("SystemStructure.ssd")[0],
    **{name: seeds(name)[0] for name in ("values.ssv", "names.ssm")},
    **{f"resources/{name}.fmu": zipped(FMUS[0]) for name in "ab"},
}


def of_archives(archives: list[dict[str, bytes]], members: tuple[str, ...]) -> Damage:
    """Return what damages an archive: mostly the texts in it, with the checksums right again."""
    packed = [zipped(archive) for archive in archives]

    def damage(rng: random.Random) -> bytes:
        if rng.random() < 0.25:
            return damaged(rng, packed, "bytes")
        archive = dict(rng.choice(archives))
        name = rng.choice([member for member in members if member in archive])
        form: Form = "text" if name == ANNOTATION else "xml"
        archive[name] = damaged(rng, [other[name] for other in archives if name in other], form)
        return zipped(archive)

    return damage


@reader(
    ".fmu",
    [zipped(archive) for archive in FMUS],
    often=150,
    long=10_000,
    damage=of_archives(FMUS, (DESCRIPTION, DESCRIPTION, DESCRIPTION, ANNOTATION)),
)
def fmu(content: bytes, folder: Path) -> None:
    found = open_fmu(placed(content, folder, "damaged.fmu"))
    variables = variables_of(found)
    for variable in variables.values():
        variable.start()
        for attribute in ("min", "max", "nominal"):
            variable.number(attribute)
    answer(lambda: open_component(Component("a", fmu=folder / "damaged.fmu")))
    for check in (archive_and_xml.units, archive_and_xml.structure):
        check(SimpleNamespace(fmu=found, variables=variables))
    for ask in (
        lambda: recorded(variables, None),
        lambda: start_settings(variables, {"mass": 2.0}),
        lambda: found.unpack(folder / "unpacked"),
        lambda: found.missing_binary(),
        lambda: found.name + found.identifier,
    ):
        answer(ask)
    times = experiment(found)
    assert math.isfinite(times.t_start) and times.t_stop > times.t_start and times.step > 0


@functools.cache
def _oscillator(folder: Path):
    return variables_of(open_fmu(placed(zipped(FMUS[0]), folder, "whole.fmu")))


@reader(".csv", seeds("inputs.csv"), often=300, long=6_000)
def inputs(content: bytes, folder: Path) -> None:
    source = read_history(placed(content, folder, "inputs.csv"), plugins())
    table = input_table(_oscillator(folder), np.linspace(0.0, 1.0, 11), source, {})
    assert np.isfinite(table.values).all()


@reader(".toml", seeds("system.toml", "machines.toml"), often=100, long=5_000)
def system(content: bytes, folder: Path) -> None:
    for name in "ab":
        placed(zipped(FMUS[0]), folder, f"{name}.fmu")
    file = read_system_file(placed(content, folder, "system.toml"), plugins())
    if all(component.fmu is not None for component in file.system.components):
        Plan.of(file.system, file.plugins)  # machines would be posed, which takes its time


@reader(
    ".ssp", [zipped(SSP)], often=100, long=6_000, damage=of_archives([SSP], (STRUCTURE, STRUCTURE, "values.ssv", "names.ssm"))
)
def ssp(content: bytes, folder: Path) -> None:
    planned(placed(content, folder, "system.ssp"))
    shutil.rmtree(folder / "unpacked", ignore_errors=True)


@reader(".xml", seeds("OspSystemStructure.xml"), often=100, long=5_000, form="xml")
def osp(content: bytes, folder: Path) -> None:
    for name in "ab":
        placed(zipped(FMUS[0]), folder, f"{name}.fmu")
    planned(placed(content, folder, "OspSystemStructure.xml"))


def planned(path: Path) -> None:
    """Open a system of another tool, as far as nothing of it runs."""
    with open_system(path, plugins()) as file:
        found = file.system
        assert math.isfinite(found.t_start) and math.isfinite(found.t_end) and math.isfinite(found.step)
        for component in found.components:
            for value in component.settings.values():
                assert not isinstance(value, float) or math.isfinite(value)
        Plan.of(found, plugins())
