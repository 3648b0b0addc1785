"""``kingpost submit`` and ``kingpost jobs``: the jobs of a server from the command line."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import KingpostError
from kingpost.cli.command import Command
from kingpost.cli.output import ProgressBar, print_json, print_table

if TYPE_CHECKING:
    from kingpost.fmu.service.client import Client
    from kingpost.registry.pluginset import PluginSet

#: Files that can be the subject of a job, by suffix.
SUFFIXES = (".toml", ".urdf", ".fmu", ".ssp", ".ssd", ".xml", ".csv", ".npz")
#: Exit status of a job that was waited for and did not end well.
NOT_DONE = 5


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", metavar="URL", help="the server (default: $KINGPOST_SERVER, or http://127.0.0.1:8765)")
    parser.add_argument("--project", type=Path, metavar="DIR", help="folder of the server, if it is on this machine")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="file with the token (default: $KINGPOST_TOKEN)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _client(arguments: argparse.Namespace) -> Client:
    from kingpost.fmu.service.client import Client

    return Client.of(arguments.project, arguments.server, arguments.token_file)


class Submit(Command):
    """Submit a job to a server (kingpost serve), and wait for it if asked to.

    KIND is a verb: run, cosim, study, inverse, optimise, export, fmu-check, fmu-run, report, fatigue. SUBJECT is the name of a
    model, a file, which is uploaded with those given by --file, or the number of a job whose results are meant.
    """

    name = "submit"
    example = "kingpost submit run vessel-crane --option t_end=5 --set m1=1500 --wait --out results/crane"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("kind", metavar="KIND", help="what to do")
        parser.add_argument("subject", metavar="MODEL|FILE|JOB", help="with what")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="value of a parameter (repeatable)"
        )
        parser.add_argument(
            "--option", action="append", default=[], metavar="NAME=VALUE", help="option of the verb, e.g. t_end=5 (repeatable)"
        )
        parser.add_argument(
            "--file",
            action="append",
            default=[],
            type=Path,
            metavar="FILE",
            help="upload a file that SUBJECT names (repeatable)",
        )
        parser.add_argument("--name", metavar="TEXT", help="what the job is called")
        parser.add_argument("--wait", action="store_true", help="wait until it has ended")
        parser.add_argument("--out", type=Path, metavar="DIR", help="wait, and fetch the results into this folder")
        _add_server(parser)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        client = _client(arguments)
        files = {path.name: client.upload(path)["hash"] for path in arguments.file}
        asked: dict[str, Any] = {
            **_subject(client, arguments.subject),
            "settings": _words(arguments.set, "--set"),
            "options": _words(arguments.option, "--option"),
            "files": files,
            "name": arguments.name,
        }
        job = client.submit(arguments.kind, **asked)
        if not arguments.wait and arguments.out is None:
            print_json({"id": job}) if arguments.json else print(f"job {job}")
            return 0
        bar = ProgressBar(f"job {job}")
        try:
            found = client.wait(job, lambda seen: bar(seen["progress"]))
        finally:
            bar.close()
        written = client.download(job, arguments.out) if arguments.out is not None else []
        if arguments.json:
            print_json(found)
        else:
            print_table(
                [("job", str(job)), ("state", found["state"]), *([("files", ", ".join(map(str, written)))] * bool(written))]
            )
        if found["state"] != "done":
            print(f"kingpost: {found['error'] or found['state']}", file=sys.stderr)
        return 0 if found["state"] == "done" else found["exit_status"] or NOT_DONE


def _subject(client: Client, word: str) -> dict[str, Any]:
    if word.isdigit():
        return {"job": int(word)}
    if word.lower().endswith(SUFFIXES):
        return {"file": client.upload(word)["hash"]}
    return {"model": word}


def _words(words: list[str], flag: str) -> dict[str, Any]:
    """Return values by name; numbers, true and false are what they say, and a name that comes twice has a list."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name.strip():
            raise KingpostError(f"{flag} {word}: write NAME=VALUE")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        name = name.strip()
        found[name] = [*_as_list(found[name]), value] if name in found else value
    return found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


class Jobs(Command):
    """List the jobs of a server, show one, or cancel, repeat or delete it."""

    name = "jobs"
    example = "kingpost jobs 12 --log"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("job", nargs="?", type=int, metavar="JOB", help="show this one (default: list them)")
        parser.add_argument(
            "--state", choices=["queued", "running", "done", "failed", "cancelled"], help="only jobs in this state"
        )
        parser.add_argument("--kind", metavar="KIND", help="only jobs of this kind")
        parser.add_argument("--limit", type=int, default=20, metavar="N", help="how many are listed (default: 20)")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--cancel", action="store_true", help="cancel the job")
        what.add_argument("--again", action="store_true", help="submit the same job once more")
        what.add_argument("--delete", action="store_true", help="delete the job with its files")
        what.add_argument("--log", action="store_true", help="show what its command wrote")
        what.add_argument("--out", type=Path, metavar="DIR", help="fetch its files into this folder")
        _add_server(parser)
        parser.set_defaults(refuse=parser.error)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        client = _client(arguments)
        if arguments.job is None:
            if arguments.cancel or arguments.again or arguments.delete or arguments.log or arguments.out:
                arguments.refuse("say which job is meant: kingpost jobs JOB ...")
            return _list(client, arguments)
        if arguments.log:
            print(client.log(arguments.job), end="")
        elif arguments.cancel or arguments.delete:
            state = (client.cancel if arguments.cancel else client.delete)(arguments.job)
            print_json({"id": arguments.job, "state": state}) if arguments.json else print(f"job {arguments.job}: {state}")
        elif arguments.again:
            job = client.again(arguments.job)
            print_json({"id": job}) if arguments.json else print(f"job {job}")
        elif arguments.out is not None:
            print_table([("file", str(path)) for path in client.download(arguments.job, arguments.out)])
        else:
            _show(client.job(arguments.job), arguments.json)
        return 0


def _list(client: Client, arguments: argparse.Namespace) -> int:
    found = client.jobs(state=arguments.state, kind=arguments.kind, limit=arguments.limit)
    if arguments.json:
        print_json(found)
        return 0
    rows = [(str(job["id"]), job["kind"], job["name"], _state(job), _when(job["created"])) for job in found["jobs"]]
    print_table(rows, ("JOB", "KIND", "NAME", "STATE", "SUBMITTED"))
    print(", ".join(f"{number} {state}" for state, number in found["counts"].items()))
    return 0


def _state(job: dict[str, Any]) -> str:
    return f"running, {job['progress']:.0%}" if job["state"] == "running" else str(job["state"])


def _when(seconds: float | None) -> str:
    return "-" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _show(job: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(job)
        return
    rows = [("job", f"{job['id']}, {job['kind']}, {job['name']}"), ("state", _state(job))]
    rows += [(name, _when(job[name])) for name in ("created", "started", "ended") if job[name] is not None]
    rows += [("command", " ".join(job["command"]))] * bool(job["command"]) + [("error", job["error"])] * bool(job["error"])
    print_table([*rows, *(("file", f"{entry['name']}, {entry['bytes']} bytes") for entry in job["files"])])
