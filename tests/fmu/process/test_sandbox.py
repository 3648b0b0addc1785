"""FMUs that do harm, in a sandbox; see sources/hostile2.c for what they try."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kingpost.base.errors import FileError, KingpostError, SolverError
from kingpost.fmu.process import sandbox as module
from kingpost.fmu.process.sandbox import VARIABLE, Limits, SandboxError, limits_in_force, sandbox_available, sandboxed
from kingpost.fmu.process.warden import ENDED
from kingpost.results.read_write import read_history
from tests.fmu.building import hostile, needs_compiler, oscillator

#: Memory that no test uses up; a fork is counted with all that it shares with its parent.
PLENTY = 1e11


@needs_compiler
def test_an_fmu_reaches_nothing_outside(confined_run, tmp_path, monkeypatch):
    """One run with everything that must fail, and what must work."""
    monkeypatch.setenv("KINGPOST_TOKEN", "secret")
    token, outside, results = tmp_path / "token", tmp_path / "outside", tmp_path / "results"
    token.write_text("secret")
    link = results / "shadow"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        forbidden = [
            "read /etc/shadow", f"read {token}", f"list {Path.home()}/.ssh", f"write {outside}", "write /usr/lib/harm",
            "write /dev/shm/harm", "write /harm", "write /proc/sys/kernel/core_pattern", f"signal {os.getpid()}",
        ]  # fmt: skip
        deeds = [
            "list /proc", "write /tmp/harm", f"write {results}/own", f"link /etc/shadow {link}", f"connect 127.0.0.1 {port}",
            "networks", "environment KINGPOST_TOKEN", "environment HOME", "namespace", "trace", *forbidden,
        ]  # fmt: skip
        outcome = confined_run(hostile(tmp_path, *deeds))
        with pytest.raises(TimeoutError):
            listener.accept()
    assert outcome.status == 0, outcome.err
    for what in forbidden:
        assert f"could not {what}: " in outcome.err
    assert "could not connect to 127.0.0.1: Connection refused" in outcome.err
    assert "there is the network" in outcome.err and outcome.err.count("there is the network") == 1  # its own loopback
    assert "could not make a namespace" in outcome.err and "could not trace its parent" in outcome.err
    assert "KINGPOST_TOKEN is not set" in outcome.err and "HOME is /tmp" in outcome.err
    numbers = [int(word) for line in outcome.err.splitlines() if (word := line.partition("/proc holds ")[2]).isdigit()]
    assert 0 < len(numbers) < 10 and max(numbers) < 100  # processes of its own, counted from 1
    assert "could write /tmp/harm" in outcome.err and "could write " + str(results / "own") in outcome.err
    assert not Path("/tmp/harm").exists() and not outside.exists()
    assert f"could link {link}" in outcome.err and not link.is_symlink()  # gone when the command was
    assert sorted(path.name for path in results.iterdir()) == ["history.csv", "own", "run.json"]
    assert {path.stat().st_uid for path in results.iterdir()} == {os.getuid()}
    assert len(read_history(results / "history.csv")) == 4


@needs_compiler
def test_processes_are_bounded(confined_run, tmp_path):
    outcome = confined_run(hostile(tmp_path, "forks"), memory=PLENTY, processes=40)
    assert outcome.status == 0, outcome.err
    said = outcome.err.partition("Resource temporarily unavailable after ")[2]
    assert 20 < int(said.split()[0]) < 40


@needs_compiler
def test_memory_is_bounded_and_the_samples_before_are_kept(confined_run, tmp_path):
    outcome = confined_run(hostile(tmp_path, "memory"), memory=5e8)
    assert outcome.status == SolverError.exit_code
    assert "the process of the FMU was killed by SIGKILL while stepping" in outcome.err
    assert "its processes together had" in outcome.err and "and may have 500 MB" in outcome.err
    assert len(read_history(outcome.folder / "failed-history.csv")) == 1


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(
    ("deed", "words", "limits", "status", "message"),
    [
        ("crash", (), {}, 5, "the process of the FMU was killed by SIGSEGV while stepping"),
        ("abort", (), {}, 5, "the process of the FMU was killed by SIGABRT while stepping"),
        ("sleep", ("--timeout", "2"), {}, 5, "did not come back within 2 s while stepping"),
        ("sleep", (), {"wall": 8.0}, ENDED, "the sandbox ended the command: it had its 8 s, and may not have more"),
        ("spin", (), {"cpu": 4.0}, 5, "was killed by SIGXCPU, for it had used up its 4 s of CPU time, while stepping"),
        ("fill {results}", (), {"disk": 2e8}, ENDED, "the sandbox ended the command: it wrote more than 200 MB of files"),
        ("fill {results}", (), {"file_size": 3e6, "disk": 1e12}, 0, "could not fill {results}: File too large"),
        ("fill /tmp; sleep", ("--timeout", "4"), {"temporary": 3e7}, 5, "temporary files had filled the 30 MB that they may"),
        ("burrow {results}; sleep", (), {}, ENDED, "it made folders that are 40 deep inside each other"),
        ("burrow {results}", (), {}, None, ""),  # it may be over before anybody looks
    ],
    ids=["crash", "abort", "hang", "wall", "cpu", "disk", "file", "temporary", "deep", "deep-quick"],
)  # fmt: skip
def test_harm_ends_with_its_reason(confined_run, tmp_path, deed, words, limits, status, message):
    results = tmp_path / "results"
    outcome = confined_run(hostile(tmp_path, deed.format(results=results)), *words, **limits)
    assert status is None or outcome.status == status, outcome.err
    assert message.format(results=results) in outcome.err
    assert "Traceback" not in outcome.err
    assert not (results / "below").exists()
    assert not list(Path("/tmp").glob("filling-*"))


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_command_which_keeps_what_it_has(sandbox, tmp_path, number):
    fmu, folder = oscillator(tmp_path, "SLOW"), tmp_path / "results"
    folder.mkdir()
    command = [sys.executable, "-m", "kingpost", "fmu-run", str(fmu), "--out", str(folder), "--write", "csv", "--t-end", "100"]
    line = sandboxed(command, readable=[fmu], writable=[folder])
    process = subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    assert "instantiated" in process.stderr.readline()
    time.sleep(2.0)
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 128 + number and "interrupted at t = " in said
    assert len(read_history(folder / "interrupted-history.csv")) > 1


STARTER = """
import subprocess, sys
process = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE)
process.stderr.readline()
print("running", flush=True)
process.wait()
"""


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("who", ["starter", "warden"])
def test_everything_inside_ends_with_whoever_started_it(sandbox, tmp_path, who):
    fmu, folder = oscillator(tmp_path, "SLOW", name=f"slow-{os.getpid()}-{who}"), tmp_path / "results"
    folder.mkdir()
    command = [sys.executable, "-m", "kingpost", "fmu-run", str(fmu), "--out", str(folder), "--t-end", "1000"]
    line = sandboxed(command, readable=[fmu], writable=[folder])
    starter = subprocess.Popen([sys.executable, "-c", STARTER, *line], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    assert starter.stdout.readline() == "running\n"
    assert len(_processes_of(fmu)) >= 3  # the warden, bubblewrap, the command
    if who == "starter":
        starter.kill()
    else:
        warden = next(pid for pid in _processes_of(fmu) if "warden.py" in _line_of(pid) and pid != starter.pid)
        os.kill(warden, signal.SIGKILL)
    starter.wait(60)
    starter.stdout.close()
    deadline = time.monotonic() + 60
    while _processes_of(fmu) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _processes_of(fmu)


def _line_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", errors="replace")
    except OSError:
        return ""


def _processes_of(fmu: Path) -> list[int]:
    pids = [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]
    return [pid for pid in pids if str(fmu) in _line_of(pid)]


ORDINARY = """
import subprocess, sys
from pathlib import Path
from kingpost.fmu.process.sandbox import Limits, sandbox_available, sandboxed
reason = sandbox_available()
if reason is not None:
    print(reason, file=sys.stderr)
    sys.exit(99)
fmu, folder = Path(sys.argv[1]), Path(sys.argv[2])
command = [sys.executable, "-m", "kingpost", "fmu-run", str(fmu), "--out", str(folder), "--write", "csv"]
line = sandboxed(command, readable=[fmu], writable=[folder], limits=Limits(memory=1e11, processes=40))
sys.exit(subprocess.run(line).returncode)
"""


@pytest.mark.slow
@needs_compiler
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="needs root, to become an ordinary user")
def test_an_ordinary_user_has_the_same_sandbox(sandbox, tmp_path_factory):
    """By namespaces of the user's own; as root the sandbox changes the user instead."""
    python, change = shutil.which("python3", path="/usr/bin"), shutil.which("setpriv")
    version = subprocess.run(
        [python or "false", "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True, check=False
    )
    if change is None or version.stdout.strip() != str(sys.version_info[:2]):
        pytest.skip("needs setpriv, and a Python of the same version that everybody can run")
    place = Path("/var/tmp") / f"kingpost-ordinary-{os.getpid()}"
    place.mkdir(mode=0o755)
    try:
        # A virtual environment that everybody can read, with the packages of this one.
        subprocess.run([python, "-m", "venv", "--without-pip", str(place / "venv")], check=True)
        packages = next((place / "venv" / "lib").glob("python*/site-packages"))
        floors = {"kingpost": module.HERE.parents[1] / "core"}
        floors |= {f"kingpost.{name}": module.HERE.parents[1] / name for name in ("plugins", "fmu")}
        (packages / "others.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
        (packages / "kingpost").mkdir()
        for entry in floors["kingpost"].iterdir():
            if entry.name != "__pycache__":
                (shutil.copytree if entry.is_dir() else shutil.copy)(entry, packages / "kingpost" / entry.name)
        for name in ("plugins", "fmu"):
            shutil.copytree(floors[f"kingpost.{name}"], packages / "kingpost" / name)
        folder = place / "results"
        folder.mkdir()
        os.chown(folder, 65534, 65534)
        deeds = [
            "read /etc/shadow",
            f"write {place}/harm",
            "write /harm",
            "networks",
            "namespace",
            "forks",
            f"link /etc/passwd {folder}/x",
        ]
        fmu = hostile(place, *deeds)
        words = [
            change,
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            str(place / "venv" / "bin" / "python"),
            "-c",
            ORDINARY,
        ]
        done = subprocess.run(
            [*words, str(fmu), str(folder)], capture_output=True, text=True, check=False, cwd="/", timeout=300
        )
        if done.returncode == 99:
            pytest.skip(f"ordinary users have no sandbox here ({done.stderr.strip()})")
        assert done.returncode == 0, done.stderr
        for deed in ("read /etc/shadow", f"write {place}/harm", "write /harm"):
            assert f"could not {deed}" in done.stderr
        assert "could not make a namespace" in done.stderr and done.stderr.count("there is the network") == 1
        assert 20 < int(done.stderr.partition("unavailable after ")[2].split()[0]) < 40
        assert sorted(path.name for path in folder.iterdir()) == ["history.csv", "run.json"]
        assert {path.stat().st_uid for path in folder.iterdir()} == {65534}
    finally:
        shutil.rmtree(place)


@pytest.fixture
def untried():
    """The sandbox as if nobody had tried it before, and afterwards again."""
    for known in (module._tried, module._help):
        known.cache_clear()
    yield
    for known in (module._tried, module._help):
        known.cache_clear()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux")
def test_why_there_is_no_sandbox(untried, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert sandbox_available() == "bubblewrap is not installed; the package is called bubblewrap, the program bwrap"
    with pytest.raises(SandboxError, match="there is no sandbox on this machine: bubblewrap is not installed"):
        sandboxed(["true"], readable=[], writable=[])
    module._tried.cache_clear()
    module._help.cache_clear()
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    setting = tmp_path / "setting"
    setting.write_text("0\n")
    monkeypatch.setattr(module, "SETTINGS", {str(setting): ("0", "user.max_user_namespaces=0 forbids user namespaces")})
    reason = sandbox_available()
    assert reason is not None
    assert reason.startswith("a trial failed: bwrap: setting up uid map: Permission denied. ")
    assert reason.endswith("The setting user.max_user_namespaces=0 forbids user namespaces")


@pytest.mark.slow
def test_whoever_starts_a_command_can_talk_to_it(sandbox):
    """As the service does with a live session."""
    code = "import sys; print(sys.stdin.readline().upper(), end='', flush=True); print(sys.stdin.read())"
    line = sandboxed([sys.executable, "-c", code], readable=[], writable=[])
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("first\n")
    process.stdin.flush()
    assert process.stdout.readline() == "FIRST\n"
    assert process.communicate("second", timeout=120)[0] == "second\n"
    assert process.returncode == 0


def test_a_path_that_is_not_there_is_refused(sandbox, tmp_path):
    with pytest.raises(FileError, match="there is no '.*nowhere' that a sandbox could show"):
        sandboxed(["true"], readable=[tmp_path / "nowhere"], writable=[])


def test_limits_are_changed_by_the_environment(monkeypatch):
    monkeypatch.setenv(VARIABLE, "memory=8e9, wall=0")
    assert limits_in_force(Limits(wall=5.0)) == Limits(memory=8e9, wall=0.0)
    for wrong in ("memory", "memory=much", "cpu=0", "weight=3", "disk=inf", "wall=-1"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(
            KingpostError, match=f"'{wrong}' is no limit; write memory, cpu, wall, .* as in memory=8e9,cpu=7200"
        ):
            limits_in_force()


def test_what_can_be_written_stays_so_inside_what_can_be_read_and_the_other_way_round(tmp_path):
    for name in ("work", "work/results", "work/results/inputs"):
        (tmp_path / name).mkdir()
    words = module._places([tmp_path / "work", tmp_path / "work/results/inputs"], [tmp_path / "work/results"], Limits())
    shown = [
        (words[i], words[i + 2])
        for i, word in enumerate(words)
        if word in ("--bind", "--ro-bind") and str(tmp_path) in words[i + 2]
    ]
    inside = str(tmp_path / "work")
    assert shown == [("--ro-bind", inside), ("--bind", f"{inside}/results"), ("--ro-bind", f"{inside}/results/inputs")]
