"""An FMU as a file: its description, what it says it can do, its binaries, and where it is unpacked."""

from __future__ import annotations

import copy
import gc
import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from kingpost.base.errors import FileError, KingpostError, MechanismError, listed
from kingpost.base.record_form import FORM, Each, fault_of
from kingpost.base.text_files import is_dir, is_file, parse_json
from kingpost.fmu.file.archive_limits import DAMAGED as DAMAGED
from kingpost.fmu.file.archive_limits import check_limits
from kingpost.fmu.file.archive_limits import path_fault as path_fault
from kingpost.fmu.file.head import Head, read_head

FmiKind: TypeAlias = Literal["co-simulation", "model-exchange"]
DESCRIPTION = "modelDescription.xml"
#: What Kingpost's own FMUs say about the machine inside: loads, geometry and channels, as in the provenance of a run.
ANNOTATION = "resources/kingpost.json"
_PLACE = {"position?": [object], "rotation?": [object]}
#: What of the annotation is read again: as in the record of a run, and of the definition of the machine what ports are made of.
ANNOTATION_FORM = {
    **FORM,
    "channels?": Each({"unit?": str, "frame?": str, "side?": str, "at?": [float]}),
    "model?": {
        "definition?": {
            "joints?": [{"name": str, "since?": object, "pose?": [object], "twist?": [object], "twist_rate?": [object]}],
            "ports?": [{"name": str, "joint?": str, "body?": str, **_PLACE}],
            "forces?": [{"kind": str, "wrench?": [object], "inertia?": [object], **_PLACE}],
        }
    },
}
#: The element of the model description for each interface.
ELEMENTS: dict[FmiKind, str] = {"co-simulation": "CoSimulation", "model-exchange": "ModelExchange"}


class FmuError(KingpostError):
    """What is asked of an FMU does not fit it."""

    exit_code = MechanismError.exit_code


@dataclass(frozen=True, eq=False)
class Fmu:
    """An FMU file that was read, of which no code was run.

    ``description`` is fmpy's object model of modelDescription.xml.
    """

    path: Path
    sha256: str
    description: Any
    #: What the description says of each interface, as texts.
    capabilities: Mapping[FmiKind, Mapping[str, str]]
    interface: FmiKind
    members: tuple[str, ...]
    #: The content of resources/kingpost.json; its channels by name.
    annotation: Mapping[str, Any]
    #: Variables of FMI 1.0 that are the negative of the one whose reference they share.
    negated: frozenset[str] = frozenset()
    #: Variables of FMI 3 that take part in intermediate updates.
    intermediate: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def major(self) -> int:
        """The FMI version, 1, 2 or 3."""
        return int(self.description.fmiVersion.split(".")[0])

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return str(self.description.modelName or self.path.stem)

    @property
    def identifier(self) -> str:
        """What the binary is called."""
        return self.capabilities[self.interface].get("modelIdentifier", "")

    def can(self, capability: str) -> bool:
        """Say whether a flag of the interface is set.

        FMI 2 and FMI 3 spell some differently (FMUstate and FMUState), so case and a final s are not looked at.
        """
        wanted = capability.lower().rstrip("s")
        return any(
            name.lower().rstrip("s") == wanted and text in ("true", "1")
            for name, text in self.capabilities[self.interface].items()
        )

    def default(self, name: Literal["startTime", "stopTime", "stepSize", "tolerance"]) -> float | None:
        """Return a number of the default experiment, if the description gives one that can be used."""
        experiment = self.description.defaultExperiment
        return None if experiment is None else number_in(getattr(experiment, name))

    def library(self) -> str:
        """Return where the binary for this platform must be inside the archive."""
        import fmpy

        folder = fmpy.platform_tuple if self.major == 3 else fmpy.platform
        return f"binaries/{folder}/{self.identifier}{fmpy.sharedLibraryExtension}"

    def missing_binary(self) -> str:
        """Return that there is no binary for this platform, and which there are, or an empty text."""
        if self.library() in self.members:
            return ""
        there = self.binary_platforms()
        others = f"it has some for {listed(there)}" if there else "it has none at all"
        return f"'{self.path.name}' has no binary for this platform ({self.library()}); {others}"

    def binary_platforms(self) -> list[str]:
        """Return the platforms for which there are binaries; a folder with nothing in it holds none."""
        parts = [name.split("/") for name in self.members if name.startswith("binaries/") and not name.endswith("/")]
        return sorted({words[1] for words in parts if len(words) > 2})

    def reduced(self, names: Iterable[str]) -> Fmu:
        """Return the same FMU with these variables alone, for a process that uses no others and need not read the file."""
        wanted = set(names)
        kept = copy.copy(self.description)
        kept.modelVariables = [variable for variable in self.description.modelVariables if variable.name in wanted]
        kept.outputs, kept.derivatives, kept.initialUnknowns, kept.eventIndicators, kept.clockedStates = ([] for _ in range(5))
        return replace(self, description=kept)

    def unpack(self, folder: Path) -> Path:
        """Unpack what can be unpacked safely into ``folder`` and return it."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                check_limits(archive, self.path)
                archive.extractall(folder, [name for name in self.members if not path_fault(name)])
        except DAMAGED as error:
            raise FileError(f"'{self.path}' cannot be unpacked: {error}") from None
        return folder


def open_fmu(path: str | Path, interface: FmiKind | None = None) -> Fmu:
    """Read an FMU file, running nothing of it.

    Raises
    ------
    FileError
        If there is no such file, or it cannot be understood as an FMU of version 1, 2 or 3.
    FmuError
        If it lacks the interface asked for.

    """
    path = Path(path)
    members, description, annotation = _read(path)
    try:
        head = read_head(description)
    except ValueError as error:
        raise FileError(f"'{path}': {DESCRIPTION} is not XML: {error}") from None
    capabilities = _interfaces(path, head)
    if interface is not None and interface not in capabilities:
        raise FmuError(f"'{path}' does not offer {interface}; it offers {listed(capabilities)}")
    notes: tuple[str, ...] = ()
    record: Mapping[str, Any] = {}
    if annotation is not None:
        try:
            record = _annotation(annotation)
        except ValueError as error:
            notes = (f"{ANNOTATION} in the FMU is not used: {error}",)
    chosen: FmiKind = next(iter(capabilities)) if interface is None else interface
    return Fmu(
        path.resolve(),
        hashlib.sha256(path.read_bytes()).hexdigest(),
        _described(path),
        capabilities,
        chosen,
        members,
        record,
        head.negated,
        head.intermediate,
        notes,
    )


def number_in(text: str | None) -> float | None:
    """Return the number that an attribute of the description gives, if it does."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _read(path: Path) -> tuple[tuple[str, ...], bytes, bytes | None]:
    if not is_file(path):
        what = "is a folder, not a file" if is_dir(path) else "does not exist"
        raise FileError(f"'{path}' {what}; give the path of an .fmu file")
    try:
        with zipfile.ZipFile(path) as archive:
            check_limits(archive, path)
            members = tuple(archive.namelist())
            if DESCRIPTION not in members:
                raise FileError(f"'{path}' holds no {DESCRIPTION}, so it is not an FMU")
            annotation = archive.read(ANNOTATION) if ANNOTATION in members else None
            return members, archive.read(DESCRIPTION), annotation
    except zipfile.BadZipFile as error:
        raise FileError(f"'{path}' is not an FMU, which would be a ZIP archive: {error}") from None
    except DAMAGED as error:
        raise FileError(f"'{path}' cannot be read: {error}") from None


def _interfaces(path: Path, head: Head) -> dict[FmiKind, Mapping[str, str]]:
    """Return what a description says of each interface."""
    major = head.version.split(".")[0]
    if major not in ("1", "2", "3"):
        raise FileError(
            f"'{path}' is an FMU of version '{head.version}'; FMI 1.0, 2.0 and 3.0 are understood. Export it anew from its tool"
        )
    if major == "1":
        return {"co-simulation": _slave(path, head)}
    found: dict[FmiKind, Mapping[str, str]] = {
        kind: head.found[element] for kind, element in ELEMENTS.items() if element in head.found
    }
    if not found:
        raise FileError(f"'{path}' offers neither co-simulation nor model exchange; nothing here can drive it")
    return found


def _slave(path: Path, head: Head) -> Mapping[str, str]:
    """Return what an FMU of FMI 1.0 says of co-simulation."""
    if "Implementation/CoSimulation_StandAlone" not in head.found:
        by_tool = "Implementation/CoSimulation_Tool" in head.found
        what = "co-simulation with a tool that it starts itself" if by_tool else "model exchange"
        raise FileError(
            f"'{path}' is an FMU of version '1.0' for {what}; of FMI 1.0 only stand-alone co-simulation is understood. "
            "Export it anew from its tool, as FMI 2.0 or 3.0"
        )
    flags = head.found.get("Implementation/CoSimulation_StandAlone/Capabilities", {})
    return {**flags, "modelIdentifier": head.root.get("modelIdentifier", "")}


def _described(path: Path) -> Any:
    from fmpy.model_description import ValidationError, read_model_description

    try:
        with without_collection():
            description = read_model_description(str(path), validate=False)
    except ValidationError as error:
        raise FileError(f"'{path}': {DESCRIPTION} cannot be understood: {'; '.join(error.problems)}") from None
    except Exception as error:  # whatever fmpy meets in a description that breaks the rules
        raise FileError(f"'{path}': {DESCRIPTION} cannot be understood: {type(error).__name__}: {error}") from None
    return description


@contextmanager
def without_collection() -> Iterator[None]:
    """Hold Python's search for garbage back: among objects that all stay, it would go through them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _annotation(content: bytes) -> Mapping[str, Any]:
    """Return the record, or raise :class:`ValueError` if it does not have the form of one."""
    record = parse_json(content.decode("utf-8"), finite=True)
    if not isinstance(record, dict):
        raise ValueError(f"it holds {type(record).__name__}, expected an object")
    if isinstance(record.get("channels"), list):  # as in the provenance of a run
        record["channels"] = {
            entry["name"]: entry
            for entry in record["channels"]
            if isinstance(entry, dict) and isinstance(entry.get("name"), str)
        }
    fault = fault_of(record, ANNOTATION_FORM)
    if fault:
        raise ValueError(fault)
    return record
