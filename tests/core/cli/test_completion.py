"""Shells complete what the parsers know."""

import shutil
import subprocess

import pytest

from kingpost.cli.completion import OWN_SELECTIONS, SCRIPTS, SELECTIONS, offered_verbs, verb_parsers
from kingpost.cli.main import make_parser


@pytest.fixture(scope="module")
def scripts(plugins):
    verbs = offered_verbs(make_parser(plugins), plugins)
    return {shell: make(verbs) for shell, make in SCRIPTS.items()}


def need(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def by_bash(script, *words):
    """Return what bash offers for the last word."""
    typed = " ".join(f'"{word}"' for word in ("kingpost", *words))
    ask = f'{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words)}; _kingpost; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-u", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def by_fish(script, line):
    ask = f"{script}\ncomplete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True, check=True)
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


CASES = [
    (["expo"], ["export", "export-controller"]),
    (["run", "vessel"], ["vessel-crane"]),
    (["run", "--integrator", "dop"], ["dop853"]),
    (["run", "vessel-crane", "--check"], ["--check-step"]),
    (["run", "--backend", ""], ["auto", "c", "vm"]),
    (["completion", "z"], ["zsh"]),
    (["cosim", "--master", "jac"], ["jacobi"]),
    (["export", "--to", "n"], ["native-fmu"]),
    (["hydro", "--to", "n"], []),
]


@pytest.mark.parametrize(("words", "offered"), CASES)
def test_bash_offers_what_fits(words, offered, scripts):
    need("bash")
    assert by_bash(scripts["bash"], *words) == offered


@pytest.mark.parametrize(("words", "offered"), CASES[:4])
def test_fish_offers_what_fits(words, offered, scripts):
    need("fish")
    assert by_fish(scripts["fish"], " ".join(["kingpost", *words])) == offered


def test_bash_falls_back_to_files(scripts):
    need("bash")
    assert by_bash(scripts["bash"], "run", "--out", "") == []
    assert "complete -o default" in scripts["bash"]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_scripts_have_no_slip(shell, scripts):
    need(shell)
    done = subprocess.run([shell, "-n"], input=scripts[shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_verb_and_every_option_is_in_it(shell, scripts, plugins):
    for verb, parser in verb_parsers(make_parser(plugins)).items():
        assert verb in scripts[shell]
        for action in parser._actions:
            for flag in action.option_strings:
                assert (f"-l {flag[2:]}" if shell == "fish" and flag.startswith("--") else flag) in scripts[shell]


def test_options_that_name_plugins_exist(plugins):
    known = {action.dest for parser in verb_parsers(make_parser(plugins)).values() for action in parser._actions}
    assert known >= SELECTIONS.keys()
    assert set(plugins.kinds) >= set(SELECTIONS.values())
    for verb, own in OWN_SELECTIONS.items():
        assert {action.dest for action in verb_parsers(make_parser(plugins))[verb]._actions} >= own.keys()
        assert set(plugins.kinds) >= set(own.values())


def test_the_verb_prints_it(kingpost_cli):
    assert kingpost_cli("completion", "bash").out.startswith("# Completion of kingpost for bash")
    assert kingpost_cli("completion", "csh").status == 2
