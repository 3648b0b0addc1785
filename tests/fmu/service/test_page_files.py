"""The files of the page: they fit together, ask for nothing from outside, and hold no script or style where none may stand."""

import re
from pathlib import Path

import pytest

import kingpost.fmu.service
import kingpost.report

FOLDER = Path(kingpost.fmu.service.__file__).parent / "page"
REPORT = Path(kingpost.report.__file__).parent
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.js"))
IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"(\./\S+)";$', flags=re.M)


def exported(path):
    return set(
        re.findall(r"^export (?:async )?(?:const|let|class|function) (\w+)", path.read_text(encoding="utf-8"), flags=re.M)
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_module_imports_is_exported_where_it_says(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    found = IMPORT.findall(text)
    assert len(found) == len(re.findall(r"^import\b", text, flags=re.M))
    for names, source in found:
        path = REPORT / source.removeprefix("./report/") if source.startswith("./report/") else FOLDER / source
        wanted = {word.strip() for word in names.split(",") if word.strip()}
        assert wanted <= exported(path), f"{name} imports {wanted - exported(path)} from {source}"
        code = text.replace(names, "", 1)
        assert not [word for word in wanted if not re.search(rf"\b{word}\b", code)], f"{name} imports what it does not use"


def test_every_module_is_reached_from_the_page():
    reached, waiting = set(), ["app.js"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            sources = [source.removeprefix("./") for _, source in IMPORT.findall((FOLDER / name).read_text(encoding="utf-8"))]
            waiting += [source for source in sources if not source.startswith("report/")]
    assert reached == set(SCRIPTS)


def test_the_page_holds_no_script_and_no_style_and_names_only_files_that_are_there():
    text = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\bsrc=)|javascript:", text)
    for source in re.findall(r'(?:src|href)="([^"#][^"]*)"', text):
        path = REPORT / source.removeprefix("report/") if source.startswith("report/") else FOLDER / source
        assert path.is_file(), source
    used = {*re.findall(r'(?:src|href)="([\w.-]+)"', text), "index.html", *SCRIPTS}
    assert {path.name for path in FOLDER.iterdir() if path.is_file()} == used


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_files_ask_for_nothing_outside_and_can_be_read(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"https?://(?!www\.w3\.org/)", text)
    assert not re.search(r"@import|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
    lines = text.splitlines()
    assert len(lines) < 420, path.name
    assert max(map(len, lines)) <= 170, path.name


def test_text_is_never_markup():
    """Elements are made by ``element`` of reports, whose texts are texts; nothing sets attributes that run."""
    for name in SCRIPTS:
        text = (FOLDER / name).read_text(encoding="utf-8")
        assert not re.search(r'setAttribute\("(on\w+|style|srcdoc)"', text), name
        assert "srcdoc" not in text
