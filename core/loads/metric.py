"""By which measure loads that rigid bodies leave open are smallest."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from kingpost.base.errors import KingpostError

#: ``"auto"``: by stiffness where joints of the loops have any, else by size; or a length in m.
LoadMetric: TypeAlias = str | float
WORDS = ("auto", "size", "stiffness")


def checked_metric(metric: Any) -> LoadMetric:
    """Return a metric as a word of :data:`WORDS` or as a length in m; None is ``"auto"``."""
    if metric is None:
        return "auto"
    if isinstance(metric, str) and metric in WORDS:
        return metric
    try:
        length = float(metric)
    except (TypeError, ValueError):
        length = math.nan
    if isinstance(metric, bool) or not 0.0 < length < math.inf:
        raise KingpostError(
            f"load_metric is {metric!r}; loads that rigid bodies leave open can be the smallest by 'size' (moments over the "
            "size of their loops), by 'stiffness' (of the joints that give one), by a length in m that moments are divided by, "
            "such as 0.5, or by 'auto', which takes stiffnesses where there are some"
        )
    return length
