"""A figure that a notebook shows. Needs matplotlib."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that belongs to nobody but its holder: pyplot, which keeps its figures alive, does not know it."""

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.savefig(content, format="png", dpi=110)
        return content.getvalue()
