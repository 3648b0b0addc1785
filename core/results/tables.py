"""Histories as data frames of pandas, which is an extra."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from kingpost.base.errors import PluginError
from kingpost.results.display import model_name

if TYPE_CHECKING:
    import pandas as pd

    from kingpost.results.history import History


def data_frame(history: History) -> pd.DataFrame:
    """Return the history as a data frame that can be changed; times are its index."""
    if importlib.util.find_spec("pandas") is None:
        raise PluginError("data frames need pandas; install it with: pip install 'kingpost[pandas]'")
    import pandas as pd  # slow to import

    frame = pd.DataFrame(
        history.values, index=pd.Index(history.time, name="time", copy=True), columns=list(history.names), copy=True
    )
    channels = history.channels
    frame.attrs = {
        "model": model_name(history),
        "units": {channel.name: channel.unit for channel in channels},
        "frames": {channel.name: channel.frame for channel in channels if channel.frame},
        "sides": {channel.name: channel.side for channel in channels if channel.side},
        "at": {channel.name: channel.at for channel in channels if channel.at},
    }
    return frame
