"""Pictures for light and dark pages.

A drawing may have colours of its own for dark screens, as ``@media (prefers-color-scheme: dark)`` in its style. Readers of
the site choose light or dark on the page, which a picture does not learn of: so the site has it twice, and shows the one that
fits.
"""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docsite.stage import Stage

DARK = "(prefers-color-scheme: dark)"
#: What stands for the condition in each of the two, and the class by which the theme shows one.
VARIANTS = {"light": ("not all", "only-light"), "dark": ("all", "only-dark")}
_PICTURE = re.compile(r"^!\[(?P<alt>[^\]]*)\]\((?P<path>[^)\s]+)\.svg\)$", flags=re.M)


def for_light_and_dark(text: str, place: str, stage: Stage) -> str:
    """Return a page in which drawings that know both kinds of screens stand once for each."""
    here = PurePosixPath(place).parent

    def twice(found: re.Match[str]) -> str:
        source = os.path.normpath(here / f"{found['path']}.svg")
        drawing = stage.files[source].read_text(encoding="utf-8") if source in stage.files else ""
        if DARK not in drawing:
            return found[0]
        blocks = []
        for name, (condition, shown) in VARIANTS.items():
            stage.drawn[f"{source.removesuffix('.svg')}-{name}.svg"] = partial(drawing.replace, DARK, condition)
            blocks.append(f"```{{image}} {found['path']}-{name}.svg\n:alt: {found['alt']}\n:class: {shown}\n```")
        return "\n\n".join(blocks)

    return _PICTURE.sub(twice, text)
