"""The classes of one plugin kind by name, with who supplied them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from kingpost.base.errors import PluginError, closest, listed
from kingpost.registry.plugin import Plugin

P = TypeVar("P", bound=Plugin)
#: The origin of plugins of ours.
BUILT_IN = "built-in"
#: Classes that were looked at and found usable, with the interfaces for which they are: every set of plugins asks again.
_FAULTLESS: WeakKeyDictionary[type, set[type]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Origin:
    """Where a plugin came from."""

    origin: str
    location: str
    distribution: str
    version: str

    def __str__(self) -> str:
        if self.origin == "file":
            return f"file {self.location}"
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class Broken:
    """A plugin, or one class of it, that cannot be used, and why."""

    source: Origin
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


class Registry(Generic[P]):
    """``{name: class}`` for one plugin kind; two classes with one name make that name unusable."""

    def __init__(self, base: type[P], broken: list[Broken]) -> None:
        self.base = base
        self.kind = base.kind
        self._broken = broken
        self._classes: dict[str, list[tuple[type[P], Origin]]] = {}
        #: Registries of other kinds whose classes can be selected here, too, and what makes classes of this kind of them.
        self._adopted: list[tuple[Callable[[], Registry[Any]], Callable[[Any], type[P] | None]]] = []

    def adopt(self, other: Callable[[], Registry[Any]], become: Callable[[Any], type[P] | None]) -> None:
        """Let the classes of another kind be selected here by their names, as ``become`` makes them; None: it cannot.

        ``other`` returns their registry, and is asked only where nothing of this kind is meant.
        """
        self._adopted.append((other, become))

    def received(self, cls: Any) -> Any:
        """Return a class as one of this kind, where it is of a kind whose classes can be selected here; else as it is."""
        if not isinstance(cls, type) or issubclass(cls, self.base):
            return cls
        adopted: Any = cls
        for other, become in self._adopted:
            if issubclass(adopted, other().base):
                return become(adopted) or self.get(adopted.name)
        return cls

    def add(self, cls: Any, source: Origin) -> None:
        """Add a class, or record why it cannot be used; our own ones are looked at by our tests, not at every start."""
        fault = "" if source.origin == BUILT_IN or _is_known(cls, self.base) else find_fault(cls, self.base)
        if fault:
            self._broken.append(Broken(source, fault))
            return
        _FAULTLESS.setdefault(cls, set()).add(self.base)
        self._classes.setdefault(cls.name, []).append((cls, source))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._classes))

    def __contains__(self, name: object) -> bool:
        return name in self._classes

    def __len__(self) -> int:
        return len(self._classes)

    def entries(self) -> list[tuple[type[P], Origin]]:
        """Return all classes with their sources, sorted by name; both of a duplicate."""
        return [entry for name in self for entry in self._classes[name]]

    def sources(self, name: str) -> list[Origin]:
        """Return who supplied the classes that ``name`` selects: one, none, or both of a duplicate."""
        own = [source for _, source in self._classes.get(name, [])]
        return own or [source for other, _ in self._adopted for source in other().sources(name)]

    def conflicts(self) -> dict[str, str]:
        """Return the names that more than one class claims, with a message about each."""
        return {
            name: f"two plugins register {self.kind} '{name}': "
            + " and ".join(f"'{source}'" for _, source in entries)
            + ". Remove one, rename one, or set KINGPOST_LOAD_PLUGINS to the distributions to load"
            for name, entries in self._classes.items()
            if len(entries) > 1
        }

    def get(self, name: str) -> type[P]:
        """Return the class called ``name``; raise :class:`PluginError` if there is none, or more than one."""
        entries = self._classes.get(name, [])
        if len(entries) == 1:
            return entries[0][0]
        if entries:
            raise PluginError(self.conflicts()[name])
        for other, become in self._adopted:
            found = become(other().get(name)) if name in other() else None
            if found is not None:
                return found
        adopted = [other() for other, _ in self._adopted]
        others = {other.kind: [own for own in other if own not in self] for other in adopted}
        names = [*self, *(own for kind in others.values() for own in kind)]
        message = f"unknown {self.kind} '{name}'{closest(name, names)} Available: {listed(self)}."
        message += "".join(f" {kind.capitalize()}s: {listed(own)}." for kind, own in others.items() if own)
        if self._broken:
            message += " Plugins that could not be loaded: " + "; ".join(map(str, self._broken)) + "."
        raise PluginError(message)


def _is_known(cls: Any, base: type) -> bool:
    return isinstance(cls, type) and base in _FAULTLESS.get(cls, ())


def find_fault(cls: Any, base: type[Plugin]) -> str:
    """Return what keeps ``cls`` from being a usable plugin derived from ``base``, or an empty string."""
    what = f"{base.kind} class '{getattr(cls, '__name__', cls)}'"
    if not isinstance(cls, type):
        return f"the hook for {base.kind}s returned {cls!r}, expected classes (not instances)"
    if not issubclass(cls, base):
        return f"{what} does not derive from {base.__module__}.{base.__name__}"
    if not isinstance(getattr(cls, "name", None), str) or not cls.name:
        return f"{what} lacks 'name', the text that selects it, e.g. name = \"my-{base.kind}\""
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        wanted = ", ".join(f"{name}{_signature(cls, name)}" for name in missing)
        return f"{what} lacks the method {wanted}"
    for attribute in _required_attributes(cls, base):
        if not hasattr(cls, attribute):
            return f"{what} lacks the class attribute '{attribute}'"
    options = cls.Options
    if not (isinstance(options, type) and dataclasses.is_dataclass(options)):
        return f"{what}: Options must be a dataclass, got {options!r}"
    if not options.__dataclass_params__.frozen:  # type: ignore[attr-defined]  # every dataclass has it
        return f"{what}: Options must be frozen; write @dataclass(frozen=True)"
    own_fault = cls.fault()
    return f"{what} {own_fault}" if own_fault else _signature_fault(cls, what)


def _signature(cls: type, name: str) -> str:
    parameters = inspect.signature(getattr(cls, name)).parameters
    return f"({', '.join(parameters)})"


def _required_attributes(cls: type, base: type[Plugin]) -> list[str]:
    """Return the class attributes that the interfaces above ``cls``, which stand in one module, declare."""
    interfaces = (Plugin.__module__, base.__module__)
    return [name for ancestor in cls.__mro__ if ancestor.__module__ in interfaces for name in inspect.get_annotations(ancestor)]


def _signature_fault(cls: type, what: str) -> str:
    """Compare the methods of ``cls`` with the abstract ones they implement."""
    for ancestor in cls.__mro__[1:]:
        for name, method in vars(ancestor).items():
            if not getattr(method, "__isabstractmethod__", False):
                continue
            wanted = list(inspect.signature(method).parameters)
            own = inspect.signature(getattr(cls, name))
            try:
                own.bind(*wanted)
            except TypeError:
                return f"{what}: {name}{own} must take ({', '.join(wanted)})"
    return ""
