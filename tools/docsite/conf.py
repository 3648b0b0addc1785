"""How Sphinx builds the site. Nothing in it asks for anything outside: fonts, icons and search are its own."""

from __future__ import annotations

import html
import importlib
import pydoc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring

from kingpost.base.version import __version__

HERE = Path(__file__).parent

project = "Kingpost"
author = "The Kingpost authors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
exclude_patterns = ["files/**"]
nitpicky = True
suppress_warnings: list[str] = []

myst_heading_anchors = 4
myst_enable_extensions: list[str] = []

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"Kingpost {version}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_favicon = str(HERE / "static" / "icon.svg")
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "monokai"


#: How docstrings are read: as NumPy's.
DOCSTRINGS = Config(napoleon_google_docstring=False, napoleon_use_rtype=False, napoleon_use_ivar=True)
#: The sentence that describes one of these is a whole, not a type before a colon.
SENTENCES = ("attribute", "data", "property")


def setup(app: Any) -> None:
    """Tell Sphinx how docstrings are written, and what to do with references that lead nowhere."""
    app.connect("autodoc-process-docstring", _read_docstring)
    app.connect("missing-reference", _without_page)
    app.connect("html-page-context", _own_branch, priority=100)  # before the theme asks for the tree


def _own_branch(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Let the navigation of a page show its own branch: to resolve the whole tree for every page takes most of the time."""
    included = app.env.toctree_includes
    parents = {child: parent for parent, children in included.items() for child in children}
    open_pages, above = {page}, page
    while above in parents and parents[above] not in open_pages:
        above = parents[above]
        open_pages.add(above)

    def entries(parent: str, level: int) -> str:
        items = []
        for child in included.get(parent, ()):
            here = " current" if child in open_pages else ""
            place = "#" if child == page else app.builder.get_relative_uri(page, child)
            title = html.escape(app.env.titles[child].astext())
            inner = entries(child, level + 1) if child in open_pages and child in included else ""
            link = f'<a class="{here.strip()} reference internal" href="{place}">{title}</a>'
            items.append(f'<li class="toctree-l{level}{here}">{link}{inner}</li>')
        return f"<ul>{''.join(items)}</ul>" if items else ""

    context["toctree"] = lambda **words: entries(app.config.root_doc, 1)


def _read_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    if what not in SENTENCES:
        lines[:] = NumpyDocstring(lines, DOCSTRINGS, app, what, name, value, options).lines()


def _without_page(app: Any, env: Any, node: addnodes.pending_xref, content: nodes.Node) -> nodes.Node | None:
    """Let what exists and has no page be words; what does not exist stays a broken reference."""
    if node.get("refdomain") != "py" or any(isinstance(each, addnodes.desc_signature) for each in _above(node)):
        return content if node.get("refdomain") == "py" else None
    target = str(node.get("reftarget", ""))
    return content if (not target.startswith("kingpost") and "." in target) or _exists(target) else None


def _above(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def _exists(target: str) -> bool:
    """Say whether a full name can be imported, or a short one is that of something in a module or class of ours."""
    if target.startswith("kingpost"):
        return _imported(target)
    ours = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "kingpost"]
    classes = [value for module in ours for value in vars(module).values() if isinstance(value, type)]
    return any(target in vars(place) or target in getattr(place, "__annotations__", ()) for place in (*ours, *classes))


def _imported(target: str) -> bool:
    place, _, last = target.rpartition(".")
    try:
        importlib.import_module(target)
        return True
    except ImportError:
        pass
    try:
        return bool(place) and hasattr(pydoc.locate(place), last)
    except pydoc.ErrorDuringImport:
        return False
