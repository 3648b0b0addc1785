"""Checks of what is written in an FMU; no code of it runs."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections import Counter
from typing import Any

from kingpost.fmu.checks.check import Verdict, finding, note, passed, warning
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, listed_few
from kingpost.fmu.file.opened import DESCRIPTION, path_fault, without_collection

#: The ways of packing that FMI allows.
PACKINGS = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflate"}
#: Lines of details.
MOST = 20
#: Variables whose names fmpy is asked to parse, each of which takes it some milliseconds.
MOST_NAMES = 2000


def archive(subject: FmuUnderTest) -> Verdict:
    """Look at paths, packing, checksums and binaries."""
    fmu = subject.fmu
    faults = [f"member '{name}' has {fault}" for name in fmu.members if (fault := path_fault(name))]
    with zipfile.ZipFile(fmu.path) as packed:
        faults += [f"{count} different members are called '{name}'" for name, count in _twins(packed, same=False)]
        doubles = [f"{count} members are called '{name}', with the same content" for name, count in _twins(packed, same=True)]
        for entry in packed.infolist():
            if stat.S_ISLNK(entry.external_attr >> 16):
                faults.append(f"member '{entry.filename}' is a symbolic link; an FMU holds files and folders only")
            if entry.compress_type not in PACKINGS:
                faults.append(
                    f"member '{entry.filename}' is packed by method {entry.compress_type}; FMI allows deflate, or none"
                )
        try:
            damaged = packed.testzip()
            if damaged is not None:
                faults.append(f"member '{damaged}' is damaged: its checksum is wrong")
        except (zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            faults.append(f"it cannot be unpacked: {error}")
    wanted = fmu.library()
    if wanted not in fmu.members:
        there = fmu.binary_platforms()
        sources = any(name.startswith("sources/") and name.endswith(".c") for name in fmu.members)
        advice = "; it has C sources: 'fmpy compile' may make one" if sources else ""
        faults.append(f"no binary for this platform: {wanted} is missing; there are {', '.join(there) or 'none'}{advice}")
    if faults:
        return finding(faults[0], *faults[1:MOST])
    if doubles:
        return warning(doubles[0], *doubles[1:MOST])
    place = fmu.members.index(DESCRIPTION) + 1
    return passed(f"{len(fmu.members)} members, {DESCRIPTION} is number {place}, {wanted} is there")


def _twins(packed: zipfile.ZipFile, same: bool) -> list[tuple[str, int]]:
    """Return the names of several members, those of equal ones or of different ones, and how many there are."""
    contents: dict[str, list[tuple[int, int]]] = {}
    for entry in packed.infolist():
        contents.setdefault(entry.filename, []).append((entry.CRC, entry.file_size))
    return [(name, len(found)) for name, found in contents.items() if len(found) > 1 and (len(set(found)) == 1) == same]


def validate(subject: FmuUnderTest) -> Verdict:
    """Ask fmpy."""
    import fmpy
    from fmpy.validation import validate_fmu

    count = len(subject.fmu.description.modelVariables)
    found = validate_fmu(str(subject.fmu.path)) if count <= MOST_NAMES else _validated_but_names(str(subject.fmu.path))
    problems = [" ".join(str(problem).split()) for problem in found]
    if problems:
        return finding(f"fmpy {fmpy.__version__} finds {len(problems)} problem(s)", *problems[:MOST])
    left_out = f"; the names of {count} variables are not looked at, which would take too long" if count > MOST_NAMES else ""
    return passed(f"fmpy {fmpy.__version__} finds no problem{left_out}")


def _validated_but_names(path: str) -> list[str]:
    from fmpy.model_description import ValidationError, read_model_description

    try:
        with without_collection():
            read_model_description(path, validate=True, validate_variable_names=False, validate_model_structure=True)
    except ValidationError as error:
        return list(error.problems)
    except Exception as error:  # whatever fmpy meets in a description that breaks the rules
        return [str(error)]
    return []


def units(subject: FmuUnderTest) -> Verdict:
    """Look for real variables without a unit."""
    real = [variable for variable in subject.variables.values() if variable.real and variable.causality != "independent"]
    bare = [variable.name for variable in real if not variable.unit]
    if bare:
        return note(
            f"{len(bare)} of {len(real)} real variables have no unit: {listed_few(bare)}",
            "a dimensionless quantity has the unit 1, defined without base units",
            without_unit=bare,
        )
    return passed(f"all {len(real)} real variables have one" if real else "there are no real variables")


def structure(subject: FmuUnderTest) -> Verdict:
    """Compare the model structure with what the variables say that it must be."""
    description = subject.fmu.description
    declared = [variable for variable in description.modelVariables if getattr(variable, "alias", None) is None]
    outputs = [variable for variable in declared if variable.causality == "output"]
    faults = _gaps("Outputs", outputs, description.outputs)
    computed = ("approx", "calculated")
    initial = [v for v in outputs if v.initial in computed and not v.clocks]
    initial += [v for v in declared if v.causality == "calculatedParameter"]
    for unknown in description.derivatives:
        state = unknown.variable.derivative
        if state is None or isinstance(state, str):
            faults.append(f"'{unknown.variable.name}' is listed as a derivative, but does not say of what")
            continue
        initial += [v for v in (state, unknown.variable) if v.initial in computed]
    initial = list({v.name: v for v in initial}.values())
    faults += _gaps("InitialUnknowns", initial, description.initialUnknowns)
    if faults:
        return finding(faults[0], *faults[1:], "masters use these lists to order their calls and to find algebraic loops")
    open_outputs = sum(unknown.dependencies is None for unknown in description.outputs)
    dependencies = (
        f"{open_outputs} of {len(outputs)} outputs name no dependencies, so masters must assume all"
        if open_outputs
        else "every output names its dependencies"
    )
    counts = f"{len(outputs)} outputs, {len(initial)} initial unknowns, {len(description.derivatives)} derivatives"
    return passed(f"{counts}; {dependencies}")


def _gaps(what: str, expected: list[Any], listed: list[Any]) -> list[str]:
    """Return what is missing from a list of the model structure, and what does not belong there."""
    counts = Counter(unknown.variable.name for unknown in listed)
    wanted = {variable.name for variable in expected}
    missing = [variable.name for variable in expected if variable.name not in counts]
    surplus = [name for name in counts.elements() if name not in wanted]
    twice = [name for name, count in counts.items() if count > 1]
    parts = (("lacks", missing), ("should not list", surplus), ("lists more than once", twice))
    return [f"{what} {verb} {listed_few(found)}" for verb, found in parts if found]
