"""``kingpost serve``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import KingpostError
from kingpost.cli.command import Command

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet

#: Where a server listens if nobody says otherwise.
PORT = 8765
NEEDED = ("fastapi", "uvicorn", "multipart", "websockets")


class Serve(Command):
    """Serve jobs, files and a page over HTTP: runs, co-simulations, studies and live sessions in a browser.

    DIR holds everything: the store (kingpost.sqlite), uploaded files, results and the token. Jobs run as command lines of
    Kingpost in processes of their own; a server that is started again goes on where the last one was. It listens on this
    machine alone unless --host says otherwise, and always asks for the token; the address that is printed holds it. Ctrl-C
    or SIGTERM ends it: jobs that run go back to the queue. docs/service.md has the whole story.
    """

    name = "serve"
    example = "kingpost serve project --port 8765 --workers 2 --open"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", nargs="?", type=Path, default=Path("kingpost-project"), metavar="DIR", help="the project")
        parser.add_argument("--port", type=int, default=PORT, metavar="N", help=f"port, 0 for any (default: {PORT})")
        parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)")
        parser.add_argument(
            "--allow-host",
            action="append",
            default=[],
            metavar="NAME",
            help="also answer under this name, for a proxy in front (repeatable)",
        )
        parser.add_argument("--workers", type=int, metavar="N", help="jobs at a time (default: one for each processor)")
        parser.add_argument("--on", default="local", metavar="local|dask://ADDRESS", help="where studies run (default: local)")
        parser.add_argument(
            "--token-file", type=Path, metavar="FILE", help="file with the token (default: DIR/token, made here)"
        )
        parser.add_argument("--open", action=argparse.BooleanOptionalAction, default=False, help="open the page in a browser")
        parser.add_argument(
            "--trust-fmus", action="store_true", help="run uploaded FMUs without a sandbox; whoever uploads one runs code here"
        )
        parser.add_argument("--upload-limit", type=float, default=200.0, metavar="MB", help="largest upload (default: 200)")
        parser.add_argument(
            "--least-free",
            type=float,
            default=200.0,
            metavar="MB",
            help="refuse new jobs below this room on disk (default: 200)",
        )
        parser.add_argument(
            "--nice",
            type=int,
            default=10,
            metavar="N",
            help="how much jobs step back behind the server and others (default: 10)",
        )
        parser.set_defaults(refuse=parser.error)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        workers = (os.cpu_count() or 1) if arguments.workers is None else arguments.workers
        if workers < 1:
            arguments.refuse(f"--workers {workers}: give 1 or more")
        if not 0 <= arguments.port < 65536:
            arguments.refuse(f"--port {arguments.port}: give 0 to 65535")
        if arguments.on != "local" and not arguments.on.startswith("dask://"):
            arguments.refuse(f"--on {arguments.on}: give local or dask://ADDRESS")
        check_installed()
        from kingpost.fmu.service.folder import ProjectFolder
        from kingpost.fmu.service.server import serve
        from kingpost.fmu.service.settings import JobLimits, ServiceSettings

        settings = ServiceSettings(
            workers=workers,
            on=arguments.on,
            trust_fmus=arguments.trust_fmus,
            upload_bytes=1e6 * arguments.upload_limit,
            least_free=1e6 * arguments.least_free,
            limits=JobLimits(nice=arguments.nice),
        )

        def announce(address: str, token: str) -> None:
            print(f"kingpost: '{arguments.folder}' with {workers} workers; Ctrl-C ends it", flush=True)
            print(f"{address}?token={token}", flush=True)
            if arguments.open:
                open_page(f"{address}?token={token}")

        return serve(
            ProjectFolder(arguments.folder.resolve()),
            settings,
            host=arguments.host,
            port=arguments.port,
            token_file=arguments.token_file,
            names=arguments.allow_host,
            announce=announce,
        )


def check_installed(verb: str = "serve") -> None:
    """Refuse to begin where the packages of the service are missing."""
    from importlib.util import find_spec

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise KingpostError(f"'kingpost {verb}' needs {', '.join(missing)}; install it with: pip install 'kingpost[service]'")


def open_page(address: str) -> None:
    """Open an address in a browser, if there is one."""
    import webbrowser

    if not webbrowser.open(address):
        print("kingpost: no browser was found; open the address above", file=sys.stderr)
