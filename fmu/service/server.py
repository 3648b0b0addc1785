"""The server: one process with the HTTP application, and its executors."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from kingpost.base.errors import KingpostError
from kingpost.fmu.service.app import make_app
from kingpost.fmu.service.context import Context
from kingpost.fmu.service.crew import Crew
from kingpost.fmu.service.folder import ProjectFolder, only_server
from kingpost.fmu.service.live_routes import sessions_of
from kingpost.fmu.service.settings import ServiceSettings
from kingpost.fmu.service.store import Store

LOOPBACK = "127.0.0.1"
#: Seconds that answers under way have when the server ends.
LAST_ANSWERS = 3
#: Seconds that a thread keeps the interpreter while others wait for it: short, since most answers take less than a millisecond.
SWITCH = 0.001


class Server(uvicorn.Server):
    """Tells streams, which would go on for ever, when the server is about to end."""

    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self.context = context

    def handle_exit(self, sig: int, frame: object) -> None:
        self.context.stopping.set()
        super().handle_exit(sig, frame)  # type: ignore[arg-type]


def serve(
    folder: ProjectFolder,
    settings: ServiceSettings,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    token_file: Path | None = None,
    names: Sequence[str] = (),
    announce: Callable[[str, str], None] = lambda address, token: None,
    first: Callable[[FastAPI], Awaitable[bool]] | None = None,
) -> int:
    """Serve a project until a signal asks for the end; return the exit status.

    ``announce`` is told the address and the token once the server listens, and ``first`` is done, if that is given: the server
    ends at once if it says that there is nothing to serve.
    """
    folder.make()
    with only_server(folder):
        token = folder.token(token_file)
        listening = _socket(host, port)
        found: int = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        context = Context(folder, Store(folder.database), settings)
        context.crew = Crew(folder, context.store, settings)
        app = make_app(context, token, _names(shown, found, names))

        def ready() -> None:
            # Who listens everywhere is reached on this machine, too.
            near = LOOPBACK if shown == "0.0.0.0" else "[::1]" if shown == "[::]" else shown
            folder.address_file.write_text(f"http://{near}:{found}\n", encoding="ascii")
            announce(f"http://{shown}:{found}/", token)

        app.router.lifespan_context = _lifespan(context, ready, first)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,  # its lines hold whole addresses, and so the token
            server_header=False,
            timeout_graceful_shutdown=LAST_ANSWERS,
            ws_max_size=1 << 20,
            lifespan="on",
        )
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="kingpost: %(name)s: %(message)s")
        server = app.state.server = Server(config, context)
        sys.setswitchinterval(SWITCH)
        with suppress(KeyboardInterrupt):
            asyncio.run(server.serve(sockets=[listening]))
        folder.address_file.unlink(missing_ok=True)
        context.store.close()
        return 0 if server.started else 1


def _lifespan(
    context: Context, ready: Callable[[], None], first: Callable[[FastAPI], Awaitable[bool]] | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    async def begin(app: FastAPI) -> None:
        if first is None or await first(app):
            # The server listens only after this lifespan has begun.
            while not app.state.server.started:
                await asyncio.sleep(0.01)
            ready()
        else:
            app.state.server.should_exit = True

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        assert context.crew is not None
        left = context.crew.start()
        if left:
            words = (
                f"{len(left)} jobs that an earlier server left wait again" if len(left) > 1 else f"job {left[0]} waits again"
            )
            print(f"kingpost: {words}", file=sys.stderr, flush=True)
        beginning = asyncio.create_task(begin(app))
        try:
            yield
        finally:
            context.stopping.set()
            beginning.cancel()
            await asyncio.gather(beginning, return_exceptions=True)
            await sessions_of(app).close()
            await asyncio.to_thread(context.crew.stop)
            context.describer.close()

    return lifespan


def _names(shown: str, port: int, names: Sequence[str]) -> list[str]:
    """Return the values of the Host header under which the server answers."""
    own = [LOOPBACK, "localhost", "[::1]", *([] if shown in ("0.0.0.0", "[::]") else [shown])]
    # A proxy in front is spoken to without our port, or with its own.
    return [*(f"{name}:{port}" for name in own), *names, *(f"{name}:{port}" for name in names)]


def _socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise KingpostError(
            f"port {port} of {host} cannot be had: {error.strerror}; choose another with --port, or 0 for any"
        ) from None
    found.set_inheritable(False)
    return found
