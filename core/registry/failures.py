"""Exceptions that went through a plugin which is not Kingpost's: whose it is, and in which line."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType

from kingpost.base.errors import PluginRaisedError
from kingpost.base.raised import Place, in_words, path_of
from kingpost.registry.hookspecs import NAME
from kingpost.registry.kinds import HERE
from kingpost.registry.plugin import Plugin

#: Set to 1, this variable of the environment shows what plugins do: what they register, and the whole way of what they raise.
TRACE = "KINGPOST_TRACE_PLUGINS"
#: What the modules of plugin files are called, before the name of the file.
FILE_MODULE = "kingpost_plugin_"


@dataclass(frozen=True)
class PluginPlace:
    """The last line of a plugin that an exception went through."""

    place: Place
    #: The plugin as messages name it, e.g. ``integrator 'mine'``; empty where its code is no method of a plugin class.
    what: str
    #: The file or the distribution that it is from.
    owner: str
    #: Whether it called Kingpost, and the exception was raised there.
    called_us: bool
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.what or 'plugin'} ({self.owner}): {self.place}"


def plugin_place(error: BaseException) -> PluginPlace | None:
    """Return the last line of a stranger's plugin that an exception went through, if it went through one."""
    installed = _installed()
    found: PluginPlace | None = None
    ours_since = False
    for place, frame in path_of(error):
        owner = _owner(place, installed)
        if owner:
            plugin = _plugin_in(frame)
            what, kind = (f"{plugin.kind} '{plugin.name}'", plugin.kind) if plugin is not None else ("", "")
            same = found is not None and found.owner == owner and not what
            found = PluginPlace(
                place, found.what if same and found else what, owner, False, found.kind if same and found else kind
            )
            ours_since = False
        elif place.module.partition(".")[0] == HERE:
            ours_since = True
    return None if found is None else PluginPlace(found.place, found.what, found.owner, ours_since, found.kind)


def plugin_failure(error: BaseException) -> PluginRaisedError | None:
    """Return what is to be said of an exception that a stranger's plugin raised; None for any other."""
    found = plugin_place(error)
    if found is None:
        return None
    what = f"{found.what} of {found.owner}" if found.what else f"plugin {found.owner}"
    return PluginRaisedError(f"{what} raised {in_words(error)}\n  in {found.place}")


def strangers() -> list[str]:
    """Return the plugins in this process that are not Kingpost's: files, and installed distributions."""
    files = [f"file {module.__file__}" for name, module in sys.modules.items() if name.startswith(FILE_MODULE)]
    return [*files, *(owner for package, owner in _installed().items() if package in sys.modules and package != HERE)]


def _installed() -> Mapping[str, str]:
    """Return the packages of installed plugins, with the distributions that they are from."""
    found = {}
    for point in importlib.metadata.entry_points(group=NAME):
        version = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"
        found[point.value.partition(":")[0].partition(".")[0]] = version
    return found


def _owner(place: Place, installed: Mapping[str, str]) -> str:
    top = place.module.partition(".")[0]
    if top.startswith(FILE_MODULE):
        return f"file {place.file}"
    return installed.get(top, "") if top != HERE else ""


def _plugin_in(frame: FrameType) -> Plugin | type[Plugin] | None:
    """Return the plugin whose method was running."""
    for name in ("self", "cls"):
        value = frame.f_locals.get(name)
        if isinstance(value, Plugin) or (isinstance(value, type) and issubclass(value, Plugin)):
            return value
    return None
