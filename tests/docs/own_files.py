"""Files of the reader's own that pages name: what stands in for them, so that the commands with them run in a test.

A page that shows such a file has it from the page; for others there is one from the package, an example, or a run.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from kingpost.fmu.blocks import export_block, pi_controller
from kingpost.fmu.cosim import read_system

ROOT = Path(__file__).parents[2]
HYDRO = ROOT / "tests" / "data" / "hydro"
#: What makes a file in a folder, from the text of the page that names it.
Maker = Callable[[Path, str], None]


def kingpost(folder: Path, *words: str) -> None:
    """Run a command that makes a file."""
    subprocess.run([sys.executable, "-m", "kingpost", *words], cwd=folder, capture_output=True, check=True)


def made_by(*commands: str) -> Maker:
    """A file that commands make."""

    def make(folder: Path, page: str) -> None:
        for command in commands:
            kingpost(folder, *command.split())

    return make


def shown(name: str, begin: str, language: str = "toml") -> Maker:
    """A file that the page shows, in the block that has this beginning."""

    def make(folder: Path, page: str) -> None:
        found = [text for text in re.findall(rf"```{language}\n(.*?)```", page, flags=re.S) if text.startswith(begin)]
        (folder / name).write_text(found[0])

    return make


def written(name: str, text: str) -> Maker:
    """A small file."""

    def make(folder: Path, page: str) -> None:
        (folder / name).write_text(text)

    return make


def copied(source: Path, name: str) -> Maker:
    """A file, or all those of a folder that begin like it, from elsewhere in the repository."""

    def make(folder: Path, page: str) -> None:
        if source.is_dir():
            shutil.copytree(source, folder / name)
            return
        for path in source.parent.glob(f"{source.stem}.*"):
            shutil.copy(path, folder / f"{Path(name).stem}{path.suffix}")

    return make


def first(*makers: Maker) -> Maker:
    """Several files that belong together."""

    def make(folder: Path, page: str) -> None:
        for maker in makers:
            maker(folder, page)

    return make


def controller(folder: Path, page: str) -> None:
    """The controller of docs/cosim.md."""
    export_block(pi_controller(), folder / "pi-controller.fmu")


def packed(folder: Path, page: str) -> None:
    """The system of the page as SSP."""
    read_system(folder / "system.toml").write_ssp(folder / "system.ssp")


def winch(folder: Path, page: str) -> None:
    """A plugin in one file."""
    kingpost(folder, "new", "plugin", "winch", "--kind", "force", "--into", "made")
    shutil.copy(folder / "made" / "winch" / "winch.py", folder)


def wavy(folder: Path, page: str) -> None:
    """Inputs of an FMU over time: the vessel under the crane heaves."""
    rows = "".join(f"{t},{1.5 + 0.01 * t},{0.01}\n" for t in range(0, 61))
    (folder / "sea.csv").write_text(f"time,base_z,base_vz\n{rows}")


SYSTEM = first(controller, shown("system.toml", 'name = "crane with controller"'))
#: A system of machines in this process, for pages that show none.
PAIR = written("system.toml", '[run]\nt_end = 1.0\nstep = 0.01\n[components.crane]\nmodel = "vessel-crane"\n')
CRANE = made_by("export small-crane-parked-on-base --step 0.01 -o crane.fmu")
#: Two runs of the same sea, long enough for what the page leaves out.
IN_SEAS = made_by(
    *(
        f"run small-crane-parked --sea jonswap:Hs=1.5,Tp=7,seed={n} --t-end 160 --step 0.02 --loads slew --out seed{n}"
        for n in (1, 2)
    )
)
EXAMPLES = ROOT / "examples"
BARGE = copied(HYDRO / "barge_deep.nc", "barge.nc")
#: By page, what stands in for which file.
STAND_INS: dict[str, dict[str, Maker]] = {
    "README.md": {"system.toml": PAIR},
    "docs/cosim.md": {"pi-controller.fmu": controller, "system.toml": SYSTEM, "system.ssp": packed},
    "docs/fatigue.md": {
        "states.toml": first(IN_SEAS, shown("states.toml", 'rest = "calm"')),
        "spots.toml": copied(EXAMPLES / "data" / "slew_ring_hotspots.toml", "spots.toml"),
    },
    "docs/fmu-check.md": {
        "crane.fmu": CRANE,
        "sea.csv": wavy,
        "mychecks": written(
            "mychecks.py", "from kingpost.fmu.checks import passed\n\n\ndef at_rest(subject):\n    return passed('it is')\n"
        ),
    },
    "docs/fmu.md": {"my-model.toml": made_by("new model my-model"), "winch.py": winch},
    "docs/hold-in-world.md": {"B7_hold_in_world.toml": copied(EXAMPLES / "B7_hold_in_world.toml", "B7_hold_in_world.toml")},
    "docs/hydrodynamics.md": {
        "barge.nc": BARGE,
        "barge.1": copied(HYDRO / "barge_deep_wamit" / "barge_deep.1", "barge.1"),
        "NEMOH_FOLDER": copied(HYDRO / "barge_deep_nemoh", "NEMOH_FOLDER"),
    },
    "docs/joint-loads.md": {"state.json": written("state.json", '{"t": 1.0, "q": [0.01, 0.02, 0, 0.3, 0.4, -1.2]}')},
    "docs/marine.md": {
        "hindcast.csv": written(
            "hindcast.csv", "time [h], Hs, Tp\n" + "".join(f"{3 * n}, {0.5 + n % 7 / 4}, {5 + n % 5}\n" for n in range(400))
        )
    },
    "docs/model-files.md": {
        "measured.csv": written("measured.csv", "time,winch\n0,-9.81\n10,-9.81\n20,-9.0\n"),
        "results/earlier": made_by("run rotary-crane --input trolley_force=40*sin(0.8*t) --out results/earlier"),
    },
    "docs/modular-formulation.md": {"crane.toml": made_by("new model crane")},
    "docs/receding-horizon.md": {"lift.toml": shown("lift.toml", "[optimal]")},
    "docs/vessels.md": {
        "barge.nc": BARGE,
        "my-barge.toml": first(
            BARGE, shown("my-barge.toml", 'name = "my-barge"')
        ),
    },
}  # fmt: skip


def make_stand_ins(name: str, text: str, words: Sequence[str], folder: Path) -> None:
    """Make what words of a page name and is not there yet; what stands after it in the list may need what is before."""
    for file, make in STAND_INS.get(name, {}).items():
        if any(file in word for word in words) and not (folder / file).exists():
            make(folder, text)
