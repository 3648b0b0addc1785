"""Histories of n channels take n times the work of one. Work is counted: steps of Python, and comparisons of names."""

import sys
from collections import Counter

import numpy as np
import pytest

from kingpost import History, KingpostError, read_history, write_history
from kingpost.base.channel_roles import roles_of
from kingpost.base.channels import Channel
from kingpost.base.load_frames import COMPONENTS, UNITS
from kingpost.fatigue.quality import load_joints
from kingpost.report.channels import take_inventory
from kingpost.results.display import html_table
from kingpost.results.figures import make_panels
from kingpost.results.metadata import from_text, to_text, unique_names

#: Joints, of 26 channels each.
FEW, MANY = 20, 80


class Name(str):
    """A text that counts how often texts made from it are compared with others."""

    compared = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)

    def __hash__(self):
        return str.__hash__(self)

    def rpartition(self, sep):
        return tuple(map(Name, str.rpartition(self, sep)))

    def partition(self, sep):
        return tuple(map(Name, str.partition(self, sep)))

    def removesuffix(self, suffix):
        return Name(str.removesuffix(self, suffix))


def work(act):
    """Return how many steps of Kingpost's own Python, and comparisons of names anywhere, an act takes."""
    seen = Counter()

    def trace(frame, event, _):
        if event == "call":
            if frame.f_globals.get("__name__", "").partition(".")[0] not in ("kingpost", __name__.partition(".")[0]):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        seen[event] += 1
        return trace

    before = sys.gettrace()
    # Twice: Python 3.12 and newer count the steps of a function only after it was first seen.
    for _ in range(2 if sys.version_info >= (3, 12) else 1):
        Name.compared = 0
        seen.clear()
        sys.settrace(trace)
        try:
            act()
        finally:
            sys.settrace(before)
    return seen["opcode"] + Name.compared


def make_history(joints):
    channels = [Channel(Name(f"link{i}.angle"), "rad") for i in range(joints)]
    parts = ("", "constraint.", "actuator.")
    channels += [
        Channel(Name(f"link{i}.{part}{component}"), unit, "child", "child", (0.0, 0.0, 0.0))
        for i in range(joints)
        for part in parts
        for component, unit in zip(COMPONENTS, UNITS, strict=True)
    ]
    pose = [("px", "m"), ("py", "m"), ("pz", "m"), ("ew", "1"), ("ex", "1"), ("ey", "1"), ("ez", "1")]
    channels += [Channel(Name(f"body{i}.pose.{part}"), unit, "world") for i in range(joints) for part, unit in pose]
    values = np.tile(np.array([channel.name.endswith("ew") for channel in channels], dtype=float), (3, 1))
    return History(np.arange(3.0), tuple(channels), values, record(joints))


def record(joints):
    place = {"position": [0, 0, 0], "rotation": np.eye(3).tolist()}
    names = [f"link{i}" for i in range(joints)]
    how = {"frame": "child", "side": "child", "at": [0, 0, 0], "parts": ["constraint", "actuator"]}
    bodies = [("world" if i == 0 else f"body{i - 1}", f"body{i}") for i in range(joints)]
    return {
        "loads": {"joints": dict.fromkeys(names, how)},
        "geometry": {
            "joints": {
                name: {"kind": "revolute", "parent": parent, "child": child, "parent_frame": place, "child_frame": place}
                for name, (parent, child) in zip(names, bodies, strict=True)
            }
        },
    }


def names_that_repeat(history, path):
    with pytest.raises(KingpostError, match="several channels called"):
        History(history.time, history.channels * 2, np.hstack([history.values] * 2))


def lookups(history, path):
    for name in history.names:
        history[name], history.unit(name), history.channel(name), name in history


def all_loads(history, path):
    for joint in history.provenance["loads"]["joints"]:
        history.loads(joint, frame="world", side="parent")


def files(suffix):
    def write_and_read(history, path):
        write_history(history, path.with_suffix(suffix))
        assert read_history(path.with_suffix(suffix)).channels == history.channels

    return write_and_read


def foreign_file(history, path):
    path.with_suffix(".csv").write_text(",".join(["time", *history.names]) + "\n")
    read_history(path.with_suffix(".csv"))


ACTS = {
    "copy": lambda history, path: History(history.time, history.channels, history.values, {}),
    "names that repeat": names_that_repeat,
    "equality": lambda history, path: history == History(history.time, history.channels, history.values, history.provenance),
    "lookups": lookups,
    "all at once": lambda history, path: history.select(history.names),
    "loads of all joints": all_loads,
    "description": lambda history, path: from_text(to_text(history)).history(history.time, history.values),
    "names that differ only at the end": lambda history, path: unique_names(
        [f"{'a' * 70}{name}" for name in history.names], str, ("time",), 63
    ),
    "names that are all alike": lambda history, path: unique_names([""] * len(history.names), str, ("time",)),
    "roles": lambda history, path: roles_of(history.channels),
    "joints with loads": lambda history, path: load_joints(History(history.time, history.channels, history.values)),
    "panels of a picture": lambda history, path: make_panels(history.channels, everything=True),
    "inventory of a report": lambda history, path: take_inventory(history),
    "data frame": lambda history, path: history.to_pandas(),
    "csv": files(".csv"),
    "npz": files(".npz"),
    "mat": files(".mat"),
    "hdf5": files(".h5"),
    "parquet": files(".parquet"),
    "a CSV file of somebody else": foreign_file,
}


@pytest.mark.quick("csv", "npz", "parquet")
@pytest.mark.parametrize("act", ACTS)
def test_work_grows_no_faster_than_the_channels(act, tmp_path):
    few, many = make_history(FEW), make_history(MANY)
    ACTS[act](few, tmp_path / "first")  # imports and caches are filled
    less, more = (work(lambda history=history: ACTS[act](history, tmp_path / "x")) for history in (few, many))
    assert less > len(few.channels) / 4, "nothing was counted"
    assert more <= 1.25 * MANY / FEW * less  # and not 4 times that, as what is quadratic would take


def test_a_notebook_table_costs_the_same_for_any_history():
    less, more = (work(lambda history=history: html_table(history)) for history in (make_history(FEW), make_history(MANY)))
    assert less == more > 0


def test_the_count_sees_what_is_quadratic():
    def search(names):
        return [names.index(name) for name in names]

    names = [Name(str(i)) for i in range(400)]
    assert work(lambda: search(names)) > 10 * work(lambda: search(names[:100]))
