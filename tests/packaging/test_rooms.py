"""Every module has a room, and imports only what the table of rooms allows; docs and READMEs say the same."""

import re
from pathlib import Path

import pytest
import rooms
import walk
from rooms import BEGIN, END, FLOORS, PAGE, ROOMS, ROOT

#: Imports that the table forbids and that are still there: the room, what it imports, and why.
KNOWN_BREACHES: dict[tuple[str, str], str] = {}


def test_rooms_import_only_what_they_may():
    found = rooms.all_breaches()
    wrong = [sentence for room, module, sentence in found if (room, module) not in KNOWN_BREACHES]
    assert not wrong, "\n".join(wrong)
    mended = set(KNOWN_BREACHES) - {(room, module) for room, module, _ in found}
    assert not mended, f"no longer breached, take them out: {mended}"


def test_nothing_lies_loose_and_every_room_is_known():
    assert rooms.loose() == []


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        ("core/base/errors.py", "def f():\n    from kingpost.symbols import screws\n", "2 imports kingpost.symbols.screws"),
        (
            "core/base/errors.py",
            "if TYPE_CHECKING:\n    from kingpost.kernel.kernel import Kernel\n",
            "2 imports kingpost.kernel.kernel, but core/base may import only: nothing of ours",
        ),
        ("core/loads/ports.py", "import kingpost.simulation.run as r\n", "1 imports kingpost.simulation.run"),
        ("core/cli/main.py", "from kingpost.plugins.forces import gravity\n", "1 imports kingpost.plugins.forces.gravity"),
        ("core/mechanism/model.py", "from kingpost import PluginSet\n", "1 imports kingpost, but core/mechanism may import"),
        ("core/__init__.py", "import kingpost.fmu\n", "1 imports kingpost.fmu, but core may import only: core"),
        ("plugins/models/hooks.py", "from kingpost.fmu import file\n", "1 imports kingpost.fmu.file"),
        ("fmu/file/opened.py", "from ..running.job import Job\n", "1 imports kingpost.fmu.running.job"),
        ("fmu/osp/__init__.py", "from ..cosim import run\n", "1 imports kingpost.fmu.cosim.run"),
    ],
)
def test_a_breach_is_told_with_file_line_import_and_rule(tmp_path, place, text, said):
    module = next(name for name, path in rooms.modules().items() if path == ROOT / place)
    path = tmp_path / Path(place).name
    path.write_text(text)
    ((room, _, sentence),) = rooms.breaches(module, path)
    assert sentence.startswith(f"{path.as_posix()}:{said}")
    assert f"but {room} may import only: " in sentence


def test_the_table_has_no_cycle():
    # A room is added after those that it may import; a closed circle could not be written down.
    places = list(ROOMS)
    for place, room in ROOMS.items():
        for other in room.may_import - set(FLOORS):
            assert places.index(other) < places.index(place)


def test_readmes_and_the_page_say_what_the_table_says():
    assert rooms.stale() == []
    page = PAGE.read_text()
    assert BEGIN in page and END in page
    for place in ROOMS:
        assert len((ROOT / place / "README.md").read_text().splitlines()) == 3


@pytest.mark.parametrize("room", ROOMS.values(), ids=ROOMS)
def test_tests_are_where_the_readme_says(room):
    assert any((ROOT / room.tests).rglob("test_*.py")), f"{room.place} says that its tests are in {room.tests}"


@pytest.mark.parametrize("road", ["Run", "Export", "Co-simulate", "Check"])
def test_a_road_can_be_followed(road):
    places = walk.roads()[road]
    assert len(places) == len(set(places)) > 5
    missing = [place for place in places if not (ROOT / place).is_file()]
    assert not missing, f"no such file: {missing}"
    lost = [place for place, how in walk.steps(places) if not how]
    assert not lost, f"nothing before it in the road leads to: {lost}"


def test_every_file_that_the_docs_name_exists():
    pattern = re.compile(r"`((?:core|plugins|fmu|tests|tools|benchmarks|examples|docs)/[\w/.-]+\.\w+)`")
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]:
        if page.name == "CHANGELOG.md":
            continue  # tells of the past
        for place in pattern.findall(page.read_text()):
            assert (ROOT / place).is_file(), f"{page.relative_to(ROOT)} names {place}"


def test_ten_files_lead_from_the_verb_to_the_equation_of_motion():
    files = walk.walk()
    assert files[0] == walk.FIRST and files[-1] == walk.LAST
    assert all(how for _, how in walk.steps(files))
    assert len(files) <= walk.MOST == 10
    assert "class Run(Command)" in (ROOT / walk.FIRST).read_text()
    assert "# eq. (38)" in (ROOT / walk.LAST).read_text()
