"""The pages of the site, put together in a folder that Sphinx builds.

The pages of docs/ are written to be read in the checkout, too, so links in them are paths. Here each page gets its place on the
site, and links follow: a README is the index of its folder, and what lies outside of docs/ gets a page of its own.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from docsite import api, commands, model_file, model_pages, pictures, plugin_pages

ROOT = Path(__file__).parents[2]
#: Pages outside of docs/ that are shown, and where.
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples/index.md",
}
#: The pages that list others in tables; what they list stands below them in the navigation, in that order.
SECTIONS = ("tutorials/index.md", "guides.md", "explanation.md", "reference.md", "models/index.md")
#: What stands below a page in the navigation though no table of it says so: beginnings of names.
BELOW = {
    "explanation.md": ("decisions/index.md",),
    "decisions/index.md": ("decisions/",),
    "reference.md": ("reference/",),
    "reference/commands.md": ("reference/commands/",),
    "reference/plugins/index.md": ("reference/plugins/",),
    "reference/api/index.md": ("reference/api/",),
    "examples/index.md": ("examples/",),
}
#: What stands below the first page, behind the sections.
LAST = ("examples/index.md", "benchmarks.md", "changelog.md", "contributing.md")
#: What the site has beside the pages of docs/, at the end of the page that lists references.
MADE = """

## Made from the code

| page | for |
|---|---|
| [Commands](reference/commands.md) | every verb with all of its options |
| [Models](models/index.md) | a page for every machine: picture, commands, numbers |
| [Plugins](reference/plugins/index.md) | everything built in, by kind, with options and defaults |
| [Model file, key by key](reference/model-file.md) | every table and key of a model file |
| [Python](reference/api/index.md) | every public name |
"""
_LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\]\()([^)\s#]+)?(#[^)\s]*)?(\))")
_FENCE = re.compile(r"^(?:```|~~~)")
_ELSEWHERE = re.compile(r"[a-z]+:")


@dataclass
class Stage:
    """Texts of pages and other files by their place on the site, and where things of the checkout are shown."""

    pages: dict[str, str] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    #: Pictures that are drawn when the site is written.
    drawn: dict[str, Callable[[], str]] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write everything into an empty folder."""
        shutil.rmtree(folder, ignore_errors=True)
        for place, text in self.pages.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text, encoding="utf-8")
        for place, path in self.files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / place)
        for place, draw in self.drawn.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(draw(), encoding="utf-8")


def staged(reports: Collection[str] = ()) -> Stage:
    """Return the whole site; ``reports`` are the models whose pages show a live report."""
    stage = Stage()
    sources = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "docs").rglob("*")) if path.is_file()}
    for name in sources:
        stage.places[name] = _place(name.removeprefix("docs/"))
    stage.places |= OUTSIDE
    examples = [path for path in sorted((ROOT / "examples").glob("*")) if path.suffix in (".py", ".toml")]
    stage.places |= {f"examples/{path.name}": f"examples/{path.name}.md" for path in examples}
    for name, place in stage.places.items():
        if not place.endswith(".md"):
            stage.files[place] = ROOT / name
        elif name.endswith(".md"):
            stage.pages[place] = _with_links((ROOT / name).read_text(encoding="utf-8"), name, stage)
    for path in examples:
        stage.pages[f"examples/{path.name}.md"] = _source_page(path)
    for made in (commands.pages(), plugin_pages.pages(), model_file.pages(), api.pages()):
        stage.pages |= made
    made, stage.drawn = model_pages.pages(reports)
    stage.pages |= made
    stage.pages["reference.md"] += MADE
    for place, text in stage.pages.items():
        stage.pages[place] = pictures.for_light_and_dark(text, place, stage)
    for place, below in _navigation(stage).items():
        stage.pages[place] += _toctree(place, below)
    return stage


def _place(name: str) -> str:
    """Return where a file of docs/ is shown."""
    return re.sub(r"(^|/)README\.md$", r"\1index.md", name)


def _with_links(text: str, name: str, stage: Stage) -> str:
    """Return a page with links to where things are shown; code is left alone."""
    lines, code = [], False
    for line in text.split("\n"):
        if _FENCE.match(line):
            code = not code
        elif not code and not line.startswith("    "):
            line = _LINK.sub(lambda found: _link(found, name, stage), line)
        lines.append(line)
    return "\n".join(lines)


def _link(found: re.Match[str], name: str, stage: Stage) -> str:
    begin, target, anchor, end = found.groups()
    if target is None or _ELSEWHERE.match(target):
        return found[0]
    wanted = os.path.normpath((PurePosixPath(name).parent / target).as_posix())
    if (ROOT / wanted).is_dir():
        wanted = f"{wanted}/README.md"
    here = PurePosixPath(stage.places[name]).parent.as_posix()
    if wanted not in stage.places:
        # Sphinx offers it for download; what does not exist is a broken link there.
        place = f"files/{wanted}" + (".txt" if wanted.endswith(".md") else "")
        if (ROOT / wanted).is_file():
            stage.files[place] = ROOT / wanted
    else:
        place = stage.places[wanted]
    return f"{begin}{os.path.relpath(place, here)}{anchor or ''}{end}"


def _source_page(path: Path) -> str:
    """Return a page that shows a script or a file."""
    language = {".py": "python", ".toml": "toml"}[path.suffix]
    return f"# {path.name}\n\n````{language}\n{path.read_text(encoding='utf-8').rstrip()}\n````\n"


def _navigation(stage: Stage) -> dict[str, list[str]]:
    """Return which pages stand below which, every page once."""
    below: dict[str, list[str]] = {"index.md": []}
    taken = {"index.md"}

    def take(place: str, parent: str) -> None:
        if place in stage.pages and place not in taken:
            taken.add(place)
            below.setdefault(parent, []).append(place)

    for section in (*SECTIONS, *LAST):
        take(section, "index.md")
    for section in SECTIONS:
        for place in listed_in_tables(stage.pages.get(section, ""), section):
            take(place, section)
    for parent, starts in BELOW.items():
        for start in starts:
            for place in sorted(stage.pages, key=lambda name: (not name.endswith("/index.md"), name)):
                if place.startswith(start) and (place.count("/") == start.count("/") or place.endswith("/index.md")):
                    take(place, parent)
    for place in stage.pages:
        parent = PurePosixPath(place).parent.as_posix() + "/index.md"
        if place not in taken and parent in stage.pages:
            take(place, parent)
    return below


def listed_in_tables(text: str, place: str) -> Iterator[str]:
    """Yield the pages that the rows of tables in a page link to, in their first column."""
    here = PurePosixPath(place).parent.as_posix()
    for line in text.split("\n"):
        first = re.match(r"\| *\[[^\]]*\]\(([^)#\s]+)", line)
        if first:
            yield os.path.normpath(f"{here}/{first[1]}")


def _toctree(place: str, below: list[str]) -> str:
    here = PurePosixPath(place).parent.as_posix()
    lines = [os.path.relpath(each, here) for each in below]
    return "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(lines) + "\n```\n"
