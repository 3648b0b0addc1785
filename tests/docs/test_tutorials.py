"""The tutorials do what they say, and show what comes out."""

import json
import re
from pathlib import Path

import pytest
import tutorials

PAGES = sorted(page for page in tutorials.TUTORIALS.glob("*.md") if page.name != "README.md")


def test_every_tutorial_is_in_the_list_and_is_played_here():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (tutorials.TUTORIALS / "README.md").read_text())
    assert sorted(listed) == [page.name for page in PAGES]
    assert len(PAGES) == 7


@pytest.mark.quick("own-integrator")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_works(page, tmp_path):
    if page.stem == "crane-fmu":
        pytest.importorskip("libcosimpy")
    if page.stem == "service":
        pytest.importorskip("fastapi")
    assert tutorials.play(page, tmp_path) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_done_or_belongs_to_another_program(page):
    text = page.read_text()
    others = [step for step in tutorials.steps(text) if step.kind == "other"]
    languages = [match["language"] for match in tutorials.FENCE.finditer(text)]
    assert set(languages) <= {"sh", "python", "toml", "csv", "text", "console", "matlab", "lua"}
    # A terminal that installs, and programs that cannot be had everywhere: nothing of Kingpost's own hides there.
    lines = [line for step in others for line in step.text.splitlines() if not line.startswith("pip install")]
    assert [line for line in lines if line.startswith("kingpost ")] in ([], ["kingpost serve project --open"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_readers_are_told_what_files_are_called(page):
    # Not everything that shows a page shows the title of a block.
    text = page.read_text()
    for match in tutorials.FENCE.finditer(text):
        before = text[: match.start()].rstrip().rpartition("\n\n")[2]
        assert not match["title"] or f"`{match['title']}`" in before, match["title"]


@pytest.mark.parametrize("name", tutorials.AS_NOTEBOOKS)
def test_notebooks_are_those_of_the_pages(name):
    stored = (tutorials.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
    assert stored == tutorials.notebook(tutorials.TUTORIALS / f"{name}.md"), "run: python tools/tutorials.py --notebooks"


@pytest.mark.slow
@pytest.mark.parametrize("name", tutorials.AS_NOTEBOOKS)
def test_notebooks_run(name, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("PATH", tutorials.Player(tmp_path).environment["PATH"])
    monkeypatch.setenv("COLUMNS", "500")  # notebooks show what a terminal would, which breaks lines that pages do not
    book = nbformat.reads((tutorials.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"), as_version=4)
    nbformat.validate(book)
    done = nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(
        output.get("text", "") for cell in done.cells if cell.cell_type == "code" for output in cell.outputs if "text" in output
    )
    printed = printed.replace("\x1b[K", "\n")  # a progress bar that is wiped out
    shown = [step.text for step in tutorials.steps((tutorials.TUTORIALS / f"{name}.md").read_text()) if step.kind == "output"]
    assert [wrong for text in shown if (wrong := tutorials.missing(text, printed))] == []


def test_lines_are_compared_by_words_and_numbers():
    assert tutorials.alike("moment up to 745294 N.m at 31 s", "moment  up to 745294.4 N.m at 32 s")
    assert not tutorials.alike("moment up to 745294 N.m", "moment up to 755294 N.m")
    assert not tutorials.alike("moment up to 745294 N.m", "force up to 745294 N.m")
    assert tutorials.alike(
        "file 2f3f6a637171b0a6, 12.5 kB, 2026-01-02 03:04:05", "file 9f3f6a637171b0a6, 13 kB, 2027-01-02 03:04:05"
    )
    assert tutorials.missing("a 1\n...\nc 3\n", "a 1\nb 2\nc 3\n") == ""
    assert tutorials.missing("c 3\na 1\n", "a 1\nb 2\nc 3\n") == "a 1"


def test_pages_that_are_wrong_are_found_out(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    (wrong,) = tutorials.play(page, tmp_path)
    assert wrong.startswith("page.md:5: '3' is shown, and not printed")
    page.write_text("```python\n1 / 0\n```\n")
    assert "ZeroDivisionError" in tutorials.play(page, tmp_path)[0]
    page.write_text(
        '```toml title="a.toml"\nx = 1\n```\n\n```sh\ncat a.toml\ncat nothing   # status 1\n```\n\n```text\nx = 1\n```\n'
    )
    assert tutorials.play(page, tmp_path) == []
    page.write_text("```sh\ncat nothing\n```\n")
    assert "ends with 1" in tutorials.play(page, tmp_path)[0]
    page.write_text("```sh\ncurl somewhere\n```\n")
    assert "none of kingpost" in tutorials.play(page, tmp_path)[0]


def test_a_notebook_has_cells_for_files_commands_and_code():
    file, command = '```toml title="a.toml"\nx = 1\n```', "```sh\nkingpost run a.toml  # quick\n```"
    page = f"# A page\n\n{file}\n\n{command}\n\n```text\nwords\n```\n\nMore.\n"
    assert ["".join(cell["source"]) for cell in tutorials.cells(page)] == [
        "# A page",
        "%%writefile a.toml\nx = 1",
        "!kingpost run a.toml",
        "More.",
    ]
    assert json.loads(tutorials.notebook(Path(PAGES[0])))["nbformat"] == 4
