"""Where the files of a system structure are: unpacked from an archive, which they cannot leave, or beside a bare .ssd."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kingpost.base.errors import FileError, listed
from kingpost.base.text_files import is_dir, is_file
from kingpost.fmu.cosim.description.markup import Element, parsed, plain
from kingpost.fmu.cosim.description.system import CosimError
from kingpost.fmu.file.archive_limits import check_limits
from kingpost.fmu.file.opened import DAMAGED, path_fault

STRUCTURE = "SystemStructure.ssd"
VERSIONS = ("1.0", "2.0")


@dataclass(frozen=True)
class Package:
    """A folder with a system structure and what it names."""

    folder: Path
    structure: str = STRUCTURE
    #: Whether it was an archive, which holds all its files.
    closed: bool = True

    def root(self) -> Element:
        """Return the description of the system."""
        return self.xml(self.structure, "SystemStructureDescription", f"'{self.structure}'")

    def xml(self, source: str, element: str, where: str) -> Element:
        """Return the root of a file that the structure names; it must be the element that is expected."""
        root = parsed(self.file(source, where))
        check_root(root, element, f"'{source}'")
        return root

    def file(self, source: str, where: str) -> Path:
        """Return the path of a file that the structure names by a relative URI."""
        try:
            parts = urlsplit(source)
        except ValueError as error:
            raise CosimError(f"{where}: the source {source!r} is no URI: {error}") from None
        path = unquote(parts.path)
        fault = path_fault(path)
        if not self.closed and ".." in path.split("/"):
            fault = path_fault(path.replace("..", "up"))
        if parts.scheme or parts.netloc or parts.query or parts.fragment:
            fault = "more than a path"
        elif not path or "\0" in path:
            fault = "no path of a file"
        if fault:
            inside = "inside the archive" if self.closed else f"in the folder of '{self.structure}' or reached from there"
            raise CosimError(
                f"{where}: the source {source!r} is not read ({fault}); sources are relative paths of files {inside}"
            )
        found = self.folder / path
        if not is_file(found):
            there = sorted(member.name for member in found.parent.iterdir()) if is_dir(found.parent) else []
            owner = "the archive" if self.closed else f"'{self.folder}'"
            raise FileError(f"{where}: {owner} holds no '{path}'; in that folder there are {listed(there, 20)}")
        return found


def check_root(root: Element, element: str, where: str) -> None:
    """Refuse another kind of file, and a version that is not known."""
    if plain(root) != element:
        raise FileError(f"{where} holds a <{plain(root)}>, not a <{element}>")
    version = root.get("version")
    if version is not None and version not in VERSIONS:
        raise CosimError(f"{where} is of version {version!r}; SSP {' and '.join(VERSIONS)} are understood")


def unpack(path: Path, folder: Path) -> Package:
    """Unpack an SSP archive; members whose names lead elsewhere are left out."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_limits(archive, path)
            members = [name for name in archive.namelist() if not path_fault(name)]
            if STRUCTURE not in members:
                raise FileError(f"'{path}' holds no {STRUCTURE}, so it is not an SSP archive")
            archive.extractall(folder, members)
    except FileNotFoundError:
        raise FileError(f"there is no file '{path}'") from None
    except DAMAGED as error:
        raise FileError(f"'{path}' is not an SSP archive, which would be a ZIP archive: {error}") from None
    return Package(folder)
