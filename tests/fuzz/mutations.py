"""Damage to files: bytes as a bad disk leaves them, and words as a tired person or another program writes them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

Form: TypeAlias = Literal["bytes", "text", "xml"]

#: Numbers at the edges of what numbers can be, and what is taken for one.
NUMBERS = (
    *("0", "-0.0", "-1", "1", "2", "1e-9", "1e-300", "5e-324", "1e308", "-1e308", "1e999", "nan", "inf", "-inf", "1e16", "3.5"),
    *(
        "9223372036854775808",
        "1" + "0" * 400,
        "1" * 5000,
        "0x10",
        "1_000",
        "1,5",
        "1.2.3",
        "--1",
        "1e",
        "\u0661",
        "true",
        "half",
        "",
    ),
)
#: Values of every type that a field may get instead of its own.
VALUES = (
    *("true", "false", "null", "[]", "{}", "[1]", "[[1, 2], [3]]", '"text"', '""', "1979-05-27", "1979-05-27T07:32:00Z", "3"),
    *('{ kind = "sampled" }', '{ name = "rk4" }', '{"a": 1}', "[1, 'a', true]", '["a", "b"]', "-2.5", "[nan, inf, 0]"),
)
#: Texts that names, units, paths and formulas may be.
TEXTS = (
    *(
        "",
        " ",
        "\\u0000",
        "a\\u0000b",
        "..",
        "../..",
        "/",
        "/etc/passwd",
        "a" * 300,
        "é🚀",
        "<b>&amp;",
        "%s%n",
        "${x}",
        "\\",
        "world",
    ),
    *(
        "(-1)**0.5",
        "10**400",
        "1/0",
        "log(0)",
        "+".join("1" * 500),
        "-" * 2000 + "1",
        "(" * 500,
        "length",
        "t",
        "nan",
        "sin",
        "x.y",
    ),
    *("m", "deg", "N.m/rad", "tons", "kg.m2", "1", "radau:rtol=x", "a:b=c:d", ".*", "[", "*", "UTFm8", "utf-16", "ascii"),
)
_NUMBER = re.compile(rb"[-+]?\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_.-]*")
_QUOTED = re.compile(rb"\"[^\"\n]*\"")
_ELEMENT = re.compile(rb"<[\w:]+(?: [^<>]*)?/>|<([\w:]+)(?: [^<>]*)?>[^<>]*</\\1>")
_VALUE = re.compile(rb"(?<=[=:]) ?(\"[^\"\n]*\"|\[[^\n]*\]|\{[^\n]*\}|[^\s,<>/]+)")


def damaged(rng: random.Random, seeds: Sequence[bytes], form: Form = "text") -> bytes:
    """Return one of ``seeds`` with one to four damages; of text, mostly such that leave its form whole."""
    content = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        damage = rng.choice(_DAMAGES[form] if rng.random() < 0.85 else _DAMAGES["bytes"])
        content = damage(rng, content, seeds)
    return content


def _place(rng: random.Random, content: bytes, most: int = 40) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + 1 + int(most * rng.random() ** 3))


def _flip(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    if not content:
        return bytes([rng.randrange(256)])
    i = rng.randrange(len(content))
    return content[:i] + bytes([content[i] ^ (1 << rng.randrange(8))]) + content[i + 1 :]


def _set(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    start, end = _place(rng, content, 4)
    return content[:start] + rng.choice((b"\0", b"\xff", b"\x80", b"\n", rng.randbytes(end - start or 1))) + content[end:]


def _cut(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    start, end = _place(rng, content)
    return content[:start] + content[end:]


def _truncate(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _repeat(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    start, end = _place(rng, content)
    return content[:end] + content[start:end] * rng.choice((1, 1, 2, 100)) + content[end:]


def _insert(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    start, _ = _place(rng, content)
    return content[:start] + rng.randbytes(rng.choice((1, 2, 8))) + content[start:]


def _splice(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    other = rng.choice(seeds)
    return content[: rng.randrange(len(content) + 1)] + other[rng.randrange(len(other) + 1) :]


def _replaced(rng: random.Random, content: bytes, pattern: re.Pattern[bytes], new: bytes) -> bytes:
    found = list(pattern.finditer(content))
    if not found:
        return content + new
    match = rng.choice(found)
    group = 1 if pattern.groups else 0
    return content[: match.start(group)] + new + content[match.end(group) :]


def _number(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    return _replaced(rng, content, _NUMBER, rng.choice(NUMBERS).encode())


def _quoted(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    return _replaced(rng, content, _QUOTED, b'"%s"' % rng.choice((*TEXTS, *NUMBERS)).encode())


def _value(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    return _replaced(rng, content, _VALUE, rng.choice((*VALUES, *NUMBERS)).encode())


def _word(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    return _replaced(rng, content, _WORD, rng.choice(_WORD.findall(rng.choice(seeds)) or [b"word"]))


def _element(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    """Take out, repeat or rename an element of XML that has no others inside, or take out an attribute."""
    found = list(_ELEMENT.finditer(content))
    if not found:
        return content
    match = rng.choice(found)
    choice = rng.randrange(4)
    new = {
        0: b"",
        1: match[0] * 2,
        2: rng.choice(found)[0],
        3: re.sub(rb' [\w:]+="[^"]*"', b"", match[0], count=rng.randrange(1, 3)),
    }[choice]
    return content[: match.start()] + new + content[match.end() :]


def _any_word(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    return _replaced(rng, content, _WORD, rng.choice(TEXTS).encode())


def _line(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    lines = content.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    choice = rng.randrange(4)
    if choice == 0:
        del lines[i]
    elif choice == 1:
        lines.insert(j, lines[i])
    elif choice == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines.insert(i, rng.choice(rng.choice(seeds).split(b"\n")))
    return b"\n".join(lines)


def _nest(rng: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    opening, closing = rng.choice((b"[]", b"{}", b"()", b"<>", b'""')).decode()
    count = rng.choice((1, 1, 2, 50, 5000))
    start, end = _place(rng, content)
    return content[:start] + opening.encode() * count + content[start:end] + closing.encode() * count + content[end:]


_DAMAGES: dict[Form, tuple[Callable[[random.Random, bytes, Sequence[bytes]], bytes], ...]] = {
    "bytes": (_flip, _flip, _set, _cut, _truncate, _repeat, _insert, _splice),
    "text": (_number, _number, _quoted, _value, _value, _word, _any_word, _line, _line, _nest),
    "xml": (_number, _number, _quoted, _quoted, _quoted, _element, _element, _line, _word),
}
