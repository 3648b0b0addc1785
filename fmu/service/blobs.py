"""Uploaded files, kept once by their content."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

from kingpost.fmu.service.data_guard import file_names
from kingpost.fmu.service.errors import ServiceError
from kingpost.fmu.service.folder import ProjectFolder
from kingpost.fmu.service.starting import blob_path
from kingpost.fmu.service.store import Blob, Store
from kingpost.fmu.service.uploads import examine, plain_data

#: Characters of the name of a file.
LONGEST_NAME = 120


class Upload:
    """A file on its way in: counted, hashed, and gone again unless it is kept."""

    def __init__(self, path: Path, stream: BinaryIO, most: float) -> None:
        self.path, self.most = path, most
        self._stream = stream
        self._hash = hashlib.sha256()
        self.bytes = 0

    def add(self, chunk: bytes) -> None:
        self.bytes += len(chunk)
        check_size(self.bytes, self.most)
        self._hash.update(chunk)
        self._stream.write(chunk)

    def finish(self) -> str:
        """Bring everything to the disk; return the hash."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._hash.hexdigest()


def check_size(size: float, most: float) -> None:
    """Refuse what is too large."""
    if size > most:
        raise ServiceError(f"a file may have {most / 1e6:.0f} MB; this one has more", status=413, code="too-large")


class Blobs:
    """The uploaded files of a project."""

    def __init__(self, folder: ProjectFolder, store: Store, most: float) -> None:
        self.folder, self.store, self.most = folder, store, most

    @contextmanager
    def receiving(self) -> Iterator[Upload]:
        """Receive a file; what is not kept is gone at the end."""
        path = self.folder.incoming / secrets.token_hex(16)
        try:
            with path.open("xb") as stream:
                yield Upload(path, stream, self.most)
        finally:
            with suppress(OSError):
                path.unlink()

    def keep(self, upload: Upload, name: str) -> Blob:
        """Keep an upload if it is something that jobs can use."""
        digest, name = upload.finish(), safe_upload_name(name)
        kind, summary = examine(upload.path, name)
        target = blob_path(self.folder, digest)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        if not target.is_file():
            upload.path.chmod(0o400)
            upload.path.replace(target)
            _sync(target.parent)
        blob = Blob(digest, name, upload.bytes, kind, summary, time.time())
        self.store.add_blob(blob)
        return blob

    def path(self, blob: Blob) -> Path:
        return blob_path(self.folder, blob.hash)

    @contextmanager
    def as_file(self, blob: Blob) -> Iterator[Path]:
        """Give a file under its own name for a while, with those that it names and that were uploaded, too."""
        with tempfile.TemporaryDirectory(dir=self.folder.incoming, ignore_cleanup_errors=True) as place:
            self._lay(blob, Path(place), blob.name, 0)
            yield Path(place) / blob.name

    def _lay(self, blob: Blob, place: Path, name: str, depth: int) -> None:
        target = place / name
        if target.exists() or depth > 4:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(self.path(blob).resolve())
        for other in file_names(self.data_in(blob)):
            found = self.store.blob_named(other.rpartition("/")[2])
            if found is not None:
                self._lay(found, place, other, depth + 1)

    def data_in(self, blob: Blob) -> Mapping[str, Any]:
        """Return the plain data in a file that names others."""
        return plain_data(self.path(blob), blob.kind)


def _sync(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def safe_upload_name(name: str) -> str:
    """Return the name of an upload without folders and without what other systems do not allow."""
    last = re.split(r"[/\\]", unquote(name))[-1]
    kept = re.sub(r"[^\w .+()-]", "_", last).strip(" .")
    stem, dot, suffix = kept.rpartition(".")
    if not stem:
        raise ServiceError(f"'{name[:80]}' is no name of a file with a suffix; send it as X-Filename, e.g. 'crane.fmu'")
    return f"{stem[: LONGEST_NAME - 12]}{dot}{suffix[:10]}"
