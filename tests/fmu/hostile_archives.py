"""Archives that are made to do harm to whoever unpacks or reads them, each with what is to be said about it."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.fmu.building import CO_SIMULATION, SOURCES

LINK = stat.S_IFLNK << 16
ENTITIES = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
BOMB = f'<!DOCTYPE x [<!ENTITY e0 "ha">{ENTITIES}]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">]>'


def description() -> str:
    """Return a description in which nothing is wrong."""
    return (SOURCES / "oscillator2.xml").read_text(encoding="utf-8").replace("<!-- interfaces -->", CO_SIMULATION)


def _with(*members: tuple[str, bytes], text: str | None = None) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("modelDescription.xml", description() if text is None else text)
            for name, content in members:
                archive.writestr(name, content)

    return write


def _described(entities: str, words: str) -> Callable[[Path], None]:
    """Put entities before the description, and use them in its words."""
    return _with(text=description().replace("<fmiModel", f"{entities}<fmiModel", 1).replace("A damped", words))


def _link(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", description())
        entry = zipfile.ZipInfo("resources/secrets")
        entry.external_attr = LINK
        archive.writestr(entry, "/etc")


def _bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", description())
        with archive.open("resources/zeros", "w") as member:
            for _ in range(150):
                member.write(bytes(10**6))


def _many(path: Path) -> None:
    """Write more members than there may be, quickly: one and the same again and again."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", description())
        archive.writestr("x", b"")
        once = archive.infolist()[-1]
        archive.filelist += [once] * 100_000


def _nul(path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("modelDescription.xml", description())
        archive.writestr("resources/a_note.txt", b"")
    path.write_bytes(packed.getvalue().replace(b"a_note.txt", b"a\0note.txt"))


def _encrypted(path: Path) -> None:
    _with(("resources/locked", b"x"))(path)
    content = bytearray(path.read_bytes())
    # The bit in the entry of the directory, eight bytes after its beginning.
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def _cut(path: Path) -> None:
    _with()(path)
    path.write_bytes(path.read_bytes()[:400])


#: How each is written, and a pattern for what is said.
ARCHIVES: dict[str, tuple[Callable[[Path], None], str]] = {
    "zip-slip": (_with(("../../escaped", b"x")), r"a way out of its folder \(\.\.\)"),
    "absolute": (_with(("/tmp/escaped", b"x")), "an absolute path"),
    "backslashes": (_with(("..\\..\\escaped", b"x")), r"a way out of its folder \(\.\.\)"),
    "link": (_link, "is a symbolic link"),
    "zip-bomb": (_bomb, r"would unpack from 0\.\d+ MB to 150 MB, \d+ times as much; the limit is 200 times"),
    "many": (_many, "holds 100002 members; the limit is 100000"),
    "nul": (_nul, "has a NUL in its name"),
    "long-name": (_with((f"resources/{'n' * 300}", b"x")), "has a name that is too long"),
    "deep": (_with(("d/" * 2000 + "x", b"x")), "has a name that is too long"),
    "encrypted": (_encrypted, "is encrypted"),
    "cut": (_cut, "cannot be read as the archive that it should be"),
}
#: Those whose harm is in the description.
DESCRIPTIONS: dict[str, tuple[Callable[[Path], None], str]] = {
    "entity-bomb": (_described(BOMB, "&e9;"), "limit on input amplification|not XML"),
    "entity-outside": (_described(OUTSIDE, "&secret;"), "not XML: .*external"),
}
