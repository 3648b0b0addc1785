"""The pages of the site: every page has its place, and everything public has a page."""

import ast
import dataclasses
import importlib
import re
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from docsite import api, stage
from docsite.commands import FOLDER as COMMANDS
from docsite.model_pages import FOLDER as MODELS
from docsite.model_pages import write_reports
from docsite.plugin_pages import FOLDER as PLUGINS
from docsite.text import from_docstring, plain

import kingpost
from kingpost.cli.completion import verb_parsers
from kingpost.cli.main import make_parser
from kingpost.modelfiles.opened import open_model
from kingpost.modelfiles.schema import model_schema
from kingpost.registry.hookspecs import KINDS_HOOK

ROOT = Path(__file__).parents[2]
#: Pages that are no entries of a table, for they are tables themselves or the first page.
ENTRANCES = {"README.md", "guides.md", "explanation.md", "reference.md"}


@pytest.fixture(scope="module")
def site():
    return stage.staged(reports=["mathematical-pendulum"])


@pytest.fixture(scope="module")
def pages(site):
    return site.pages


def test_every_page_is_of_one_kind():
    """Tutorials, guides, explanation and reference are kept apart: each page of docs/ stands in exactly one of their tables."""
    sections = {name: (ROOT / "docs" / name).read_text() for name in ("guides.md", "explanation.md", "reference.md")}
    found = [place for name, text in sections.items() for place in stage.listed_in_tables(text, name)]
    written = {path.name for path in (ROOT / "docs").glob("*.md")} - ENTRANCES
    assert sorted(found) == sorted(written | {"decisions/README.md"})


def test_every_page_can_be_reached(pages):
    below = stage._navigation(stage.Stage(pages=pages))
    placed = [place for places in below.values() for place in places]
    assert sorted([*placed, "index.md"]) == sorted(pages)


def test_every_public_name_of_python_has_an_entry(pages):
    text = "\n".join(text for place, text in pages.items() if place.startswith(api.FOLDER))
    folders = [path.parent for top in ("core", "fmu") for path in (ROOT / top).rglob("__init__.py")]
    names = [f"kingpost.{name}" for name in kingpost.__all__]
    for folder in folders:
        parts = folder.relative_to(ROOT).parts
        module = ".".join(("kingpost", *(parts[1:] if parts[0] == "core" else parts)))
        if module != "kingpost":
            names += [f"{module}.{name}" for name in getattr(importlib.import_module(module), "__all__", ())]
    assert len(names) > 300
    missing = [name for name in names if f":: {name}\n" not in text and f"`{name}` is " not in text]
    assert missing == []


def names_that_pages_lead_to():
    """Yield modules and names of ours that Python on a page imports, and those that sentences name, with the page.

    Decisions name what was not done, too.
    """
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "decisions"]
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages]:
        text = page.read_text()
        for block in re.findall(r"^```python[^\n]*\n(.*?)^```", text, flags=re.S | re.M):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kingpost":
                    yield from ((node.module, alias.name, page.name) for alias in node.names)
        for module, name in re.findall(r"`(kingpost(?:\.\w+)*)\.(\w+)", re.sub(r"kingpost\.(?:json|html|toml)\b", "", text)):
            yield module, name, page.name


def is_module(name):
    try:
        return bool(importlib.import_module(name))
    except ModuleNotFoundError:
        return False


def test_every_name_that_a_page_leads_to_has_an_entry(pages):
    text = "\n".join(text for place, text in pages.items() if place.startswith(api.FOLDER))
    found = list(names_that_pages_lead_to())
    assert len({(module, name) for module, name, _ in found}) > 150
    without = {
        f"{page}: {module}.{name}"
        for module, name, page in found
        if not is_module(f"{module}.{name}")
        and f":: {module}.{name}\n" not in text
        and f"`{module}.{name}` is " not in text
        and getattr(importlib.import_module(module), name, None) not in public_values()
    }
    assert without == set()


def public_values():
    """Return what the package itself offers, whatever module a page takes it from."""
    return [getattr(kingpost, name) for name in kingpost.__all__]


def test_every_verb_and_every_option_is_on_its_page(pages, plugins):
    parsers = verb_parsers(make_parser(plugins))
    assert set(parsers) == set(plugins.commands)
    for verb, parser in parsers.items():
        text = pages[f"{COMMANDS}/{verb}.md"]
        assert f"[{verb}](commands/{verb}.md)" in pages[f"{COMMANDS}.md"]
        for action in parser._actions:
            for flag in action.option_strings:
                assert re.search(rf"`{re.escape(flag)}[ `]", text), f"{verb} {flag}"
            assert action.help, f"{verb}: {action.dest} says nothing"


def test_every_hook_plugin_and_option_is_on_its_page(pages, plugins):
    for kind in plugins.kinds.values():
        text = pages[f"{PLUGINS}/{kind.name}.md"]
        assert kind.hook in text and f"({kind.name}.md)" in pages[f"{PLUGINS}/index.md"]
        for cls, _ in plugins.of(kind.name).entries():
            section = text.split(f"\n## {cls.name}\n")[1].split("\n## ")[0]
            assert len(section.strip()) > 10, f"{cls.name} says nothing"
            for option in dataclasses.fields(cls.Options):
                assert f"| `{option.name}` |" in section, f"{cls.name}: {option.name}"
    assert KINDS_HOOK in pages["plugins.md"]


def test_every_key_of_a_model_file_is_on_its_page(pages, plugins):
    text = pages["reference/model-file.md"]
    schema = model_schema(plugins)
    for key, entry in schema["properties"].items():
        assert f"(key-{key.replace('_', '-')})=" in text
        inner = entry.get("items", entry)
        for name in inner.get("properties", {}):
            assert f"`{name}`" in text.split(f"(key-{key.replace('_', '-')})=")[1].split("\n## ")[1], f"{key}: {name}"


def test_every_model_has_a_page_with_its_picture_and_its_numbers(site, plugins):
    parser, names = make_parser(plugins), sorted(plugins.models)
    assert len(names) > 50
    for name in names:
        text, mechanism = site.pages[f"{MODELS}/{name}.md"], open_model(name, plugins).mechanism
        assert f"[{name}]({name}.md)" in site.pages[f"{MODELS}/index.md"]
        assert (f"![{name} at the start]({name}.svg)" in text) == bool(mechanism.bodies), name
        assert (f"{MODELS}/{name}.svg" in site.drawn) == bool(mechanism.bodies), name
        options = [field.name for field in dataclasses.fields(plugins.models.get(name).Options)]
        said = [item.name for item in (*mechanism.shown_parameters, *mechanism.inputs, *mechanism.measures)]
        for word in (*options, *said):
            assert f"\n| {word} |" in text, f"{name}: {word}"
        commands = [shlex.split(line, comments=True) for line in text.split("```sh\n")[1].split("```")[0].splitlines()]
        assert commands[0][:4] == ["kingpost", "run", name, "--report"]
        for words in commands:
            parser.parse_args(words[1:])


def test_the_picture_of_a_model_is_a_drawing_without_a_background(site):
    drawing = ElementTree.fromstring(site.drawn[f"{MODELS}/overhead-crane.svg"]())
    kinds = {item.tag.rpartition("}")[2] for item in drawing}
    assert kinds == {"polygon", "polyline"}


def test_a_live_report_is_shown_where_it_was_asked_for(pages, tmp_path, capsys):
    assert write_reports(tmp_path, ["mathematical-pendulum", "five-bar-subsystems"]) == ["mathematical-pendulum"]
    assert "five-bar-subsystems: it has no bodies to be drawn" in capsys.readouterr().out
    assert "mathematical-pendulum" in (tmp_path / MODELS / "mathematical-pendulum-report.html").read_text()
    assert 'src="mathematical-pendulum-report.html"' in pages[f"{MODELS}/mathematical-pendulum.md"]
    assert "<iframe" not in pages[f"{MODELS}/chain.md"]


def test_a_drawing_for_both_kinds_of_screens_stands_on_the_site_once_for_each(site):
    assert site.pages["index.md"].count("{image} images/overview-") == 2
    light, dark = (site.drawn[f"images/overview-{kind}.svg"]() for kind in ("light", "dark"))
    assert "@media not all {" in light and "@media all {" in dark
    for drawing in (light, dark):
        ElementTree.fromstring(drawing)


def test_code_in_sentences_keeps_its_spaces_and_its_hyphens(pages):
    assert from_docstring("Take ``x`` and\n``y``. ``z``: what.") == "Take `x` and `y`. `z`: what."
    assert plain("--plot draws a|b; waves: jonswap:Hs=2,Tp=8,heading=150") == (
        "`--plot` draws a\\|b; waves: `jonswap:Hs=2,Tp=8,heading=150`"
    )
    words = [text for place, text in pages.items() if place.startswith(("reference/commands", "reference/plugins"))]
    outside = re.sub(r"```.*?```|`[^`]*`", "", "\n".join(words), flags=re.S)
    assert re.findall(r"(?<![-\w|])--[a-z]\w*", outside) == []
    assert re.findall(r"[a-z.]`[a-z][^`\n]*`", re.sub(r"`[^`\n]*`[s']", "", "\n".join(words))) == []


def test_links_become_links_of_the_site(pages):
    assert "](decisions/index.md)" in pages["explanation.md"]
    assert "](../benchmarks/README.md)" not in "".join(pages.values())
    assert "](servo-constraints.md#index)" in pages["command-line.md"]
    assert "](optimal-control.md)" in pages["changelog.md"]


def test_links_of_pages_that_are_made_lead_to_pages(site):
    """Those of docs/ are followed by test_docs.py, and all of them by Sphinx, which takes a minute."""
    there = {*site.pages, *site.files, *site.drawn}
    for place in site.pages:
        if place.startswith((MODELS, "reference/")):
            for target in re.findall(r"\]\(([^)#\s:]+)[^)]*\)", site.pages[place]):
                found = (ROOT / place).parent.joinpath(target).resolve().relative_to(ROOT).as_posix()
                assert found in there, f"{place} links to {target}"


def test_nothing_is_asked_from_outside():
    """Fonts, icons and scripts come with the site; addresses of others may only be linked."""
    for path in (ROOT / "tools" / "docsite").rglob("*"):
        if path.suffix in (".py", ".css"):
            assert not re.search(r"https?://|@import|url\(", path.read_text()), path


def test_the_tutorials_are_listed():
    text = (ROOT / "docs" / "tutorials" / "README.md").read_text()
    assert len(re.findall(r"^\| \[[^]]+\]\([a-z-]+\.md\)", text, flags=re.M)) == 7
