"""What is in an uploaded file, and whether it may stay: archives are opened with care, and nothing of them is run."""

from __future__ import annotations

import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

from kingpost.base.errors import FileError, KingpostError, listed
from kingpost.base.toml import read_toml
from kingpost.fmu.file.archive_limits import check_stranger, path_fault
from kingpost.fmu.file.head import read_head
from kingpost.fmu.service.data_guard import check_data, check_words
from kingpost.fmu.service.errors import ServiceError

#: Kinds by suffix.
KINDS = {
    **{"toml": "toml", "fmu": "fmu", "ssp": "ssp", "ssd": "ssd", "xml": "xml", "urdf": "urdf", "csv": "csv", "npz": "npz"},
    **{"mat": "mat", "h5": "h5", "hdf5": "h5", "parquet": "parquet", "json": "json", "txt": "txt", "stl": "stl", "obj": "obj"},
}
CODE = ("py", "pyc", "pyd", "pyw", "pyz", "so", "dll", "dylib", "exe", "sh", "bat", "ps1", "pkl", "pickle", "js", "html", "htm")
ARCHIVES = ("fmu", "ssp", "npz")
#: Bytes of a text that is read as a whole.
LARGEST_TEXT = 50e6
MARKUP = (".xml", ".ssd", ".ssv", ".ssm", ".ssb")


def examine(path: Path, name: str) -> tuple[str, dict[str, Any]]:
    """Return the kind of a file and what there is to say of it; refuse what no job can use, or what may do harm."""
    suffix = name.rpartition(".")[2].lower()
    if suffix in CODE:
        raise ServiceError(f"'{name}' is code; uploaded code is refused, but for FMUs", status=403, code="python")
    kind = KINDS.get(suffix)
    if kind is None:
        raise ServiceError(f"'{name}': files of this kind are of no use here; there are: {listed(sorted(KINDS))}")
    try:
        return kind, {} if (look := _LOOKS.get(kind)) is None else look(path, name)
    except ServiceError:
        raise
    except (KingpostError, OSError, ValueError) as error:
        # The place of the file on the server is nobody's business.
        raise ServiceError(f"'{name}' is refused: {str(error).replace(str(path), name)}", code="file") from None


def plain_data(path: Path, kind: str) -> Mapping[str, Any]:
    """Return what a file says as plain data: tables of TOML, attributes of XML."""
    if kind == "toml":
        return read_toml(path)[1]
    if kind in ("xml", "ssd", "urdf"):
        return {"attributes": [value for element in ET.parse(path).iter() for value in element.attrib.values()]}
    return {}


def _toml(path: Path, name: str) -> dict[str, Any]:
    if path.stat().st_size > LARGEST_TEXT:
        raise ServiceError(f"'{name}' has more than {LARGEST_TEXT / 1e6:.0f} MB of text", status=413, code="too-large")
    data = read_toml(path)[1]
    check_data(data, name)
    return {"holds": _holds(data), "name": data["name"] if isinstance(data.get("name"), str) else None}


def _holds(data: Mapping[str, Any]) -> str:
    """Return what a TOML file describes."""
    if "components" in data:
        return "system"
    if any(key in data for key in ("keep", "limits", "sea", "vary", "check")) and "model" in data:
        return "study"
    if "actions" in data:
        return "scenario"
    if "bodies" in data or "model" in data or "joints" in data:
        return "model"
    return "other"


def check_markup(stream: BinaryIO, name: str) -> None:
    """Refuse XML with a document type: entities can grow without bounds, or read files."""

    def refuse(*_: Any) -> None:
        raise ServiceError(f"'{name}' has a document type (DOCTYPE), which could bring entities; remove it", code="entities")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        while chunk := stream.read(65536):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise ServiceError(f"'{name}' is not XML: {error}", code="file") from None


def _markup(path: Path, name: str) -> dict[str, Any]:
    with path.open("rb") as stream:
        check_markup(stream, name)
    root = ET.parse(path).getroot()
    _check_references(root, name)
    return {"root": root.tag.rpartition("}")[2]}


def _check_references(root: ET.Element, name: str) -> None:
    for element in root.iter():
        for key in ("source", "filename", "href", "src"):
            if key in element.attrib:
                check_words(element.attrib[key].replace("package:/", "").replace(":", "_"), f"{name}: {key}")


def check_archive(path: Path, name: str) -> zipfile.ZipFile:
    """Open an archive, and refuse what would leave its folder, fill the disk or the memory, or link elsewhere."""
    if not zipfile.is_zipfile(path):
        raise ServiceError(f"'{name}' is no archive", code="archive")
    try:
        check_stranger(path)
    except FileError as error:
        words = str(error).replace(str(path), name).replace(path.name, name)
        # Whoever uploads cannot set a variable of the server.
        raise ServiceError(words.partition(". If you trust where it comes from")[0], code="archive") from None
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise ServiceError(f"'{name}' is no archive: {error}", code="archive") from None
    try:
        seen = set()
        for entry in archive.infolist():
            if path_fault(entry.filename):
                raise ServiceError(f"'{name}' holds '{entry.filename[:80]}', {path_fault(entry.filename)}", code="archive")
            if entry.filename in seen:
                raise ServiceError(f"'{name}' holds '{entry.filename[:80]}' twice", code="archive")
            if entry.filename.lower().endswith(MARKUP) and entry.file_size > LARGEST_TEXT:
                raise ServiceError(
                    f"'{name}' holds '{entry.filename[:80]}' with {entry.file_size / 1e6:.0f} MB of text; the limit is "
                    f"{LARGEST_TEXT / 1e6:.0f} MB",
                    status=413,
                    code="too-large",
                )
            seen.add(entry.filename)
    except BaseException:
        archive.close()
        raise
    return archive


def _markup_members(archive: zipfile.ZipFile, name: str) -> None:
    for entry in archive.infolist():
        if entry.filename.lower().endswith(MARKUP) and "/sources/" not in entry.filename:
            _read_whole(archive, entry, name)


def _read_whole(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> None:
    try:
        with archive.open(entry) as stream:
            check_markup(stream, f"{name}: {entry.filename}")  # type: ignore[arg-type]
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise ServiceError(f"'{name}' is damaged at '{entry.filename[:80]}': {error}", code="archive") from None


def _fmu(path: Path, name: str) -> dict[str, Any]:
    with check_archive(path, name) as archive:
        if "modelDescription.xml" not in archive.namelist():
            raise ServiceError(f"'{name}' holds no modelDescription.xml, so it is no FMU", code="archive")
        _markup_members(archive, name)
        head = read_head(archive.read("modelDescription.xml"))
    kinds = {"CoSimulation": "co-simulation", "ModelExchange": "model-exchange", "ScheduledExecution": "scheduled-execution"}
    offers = [word for tag, word in kinds.items() if tag in head.found]
    if head.version[:1] not in ("1", "2", "3"):
        raise ServiceError(f"'{name}' says that it is of FMI '{head.version[:20]}'; 1, 2 and 3 are known", code="file")
    return {"model": head.root.get("modelName", "")[:200], "fmi": head.version, "interfaces": offers}


def _ssp(path: Path, name: str) -> dict[str, Any]:
    with check_archive(path, name) as archive:
        names = archive.namelist()
        if not any(member.endswith(".ssd") for member in names):
            raise ServiceError(f"'{name}' holds no SystemStructure.ssd, so it is no SSP archive", code="archive")
        _markup_members(archive, name)
        for member in names:
            if member.endswith(".ssd"):
                _check_references(ET.fromstring(archive.read(member)), f"{name}: {member}")
    return {"fmus": sum(member.endswith(".fmu") for member in names)}


def _npz(path: Path, name: str) -> dict[str, Any]:
    with check_archive(path, name) as archive:
        return {"arrays": len(archive.namelist())}


_LOOKS: dict[str, Callable[[Path, str], dict[str, Any]]] = {
    **{"toml": _toml, "xml": _markup, "ssd": _markup, "urdf": _markup, "fmu": _fmu, "ssp": _ssp, "npz": _npz}
}
