"""The HTTP application."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from kingpost.base.errors import KingpostError
from kingpost.base.version import __version__
from kingpost.fmu.service import event_routes, file_routes, health_routes, job_routes, live_routes, model_routes, result_routes
from kingpost.fmu.service.context import Context
from kingpost.fmu.service.errors import ServiceError, not_found, says_full
from kingpost.fmu.service.guard import Guard

PREFIX = "/api/v1"
#: The page and its parts; nothing else in the folder is served.
PAGE_TYPES = {
    **{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"},
    **{".svg": "image/svg+xml", ".png": "image/png", ".json": "application/json", ".webmanifest": "application/manifest+json"},
}
_NAME = re.compile(r"[\w-]+(?:[./][\w-]+)*\Z")
#: Looked for in the OpenAPI only: the guard has refused strangers before.
_token = HTTPBearer(auto_error=False, description="the token of the server")


def make_app(context: Context, token: str, hosts: Iterable[str]) -> FastAPI:
    """Return the application of a project, which answers under some names only, and to those who have the token."""
    app = FastAPI(
        title="Kingpost",
        version=__version__,
        description="Jobs of the kingpost command line over HTTP. docs/service.md explains it.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.context = context
    app.include_router(health_routes.router, prefix=PREFIX)
    inner = APIRouter(dependencies=[Depends(_token)])
    for routes in (job_routes, result_routes, event_routes, file_routes, model_routes, live_routes):
        inner.include_router(routes.router)
    app.include_router(inner, prefix=PREFIX)
    app.include_router(live_routes.sockets, prefix=PREFIX)
    _add_page(app)
    _add_refusals(app)
    app.add_middleware(Guard, token=token, hosts=list(hosts))
    return app


def _add_page(app: FastAPI) -> None:
    """Serve the page at /, its parts beside it, and the report's scripts at /report/."""
    page, report = Path(str(files("kingpost.fmu.service"))) / "page", Path(str(files("kingpost.report")))

    @app.get("/", include_in_schema=False)
    def index() -> Response:
        return _asset(page, "index.html")

    @app.get("/report/{name}", include_in_schema=False)
    def report_asset(name: str) -> Response:
        if Path(name).suffix not in (".js", ".css"):
            raise not_found("there is no such file")
        return _asset(report, name)

    @app.get("/{name:path}", include_in_schema=False)
    def asset(name: str) -> Response:
        if name.startswith("api/"):
            raise not_found(f"there is no '/{name[:100]}'; {PREFIX}/openapi.json lists what there is")
        return _asset(page, name)


def _asset(folder: Path, name: str) -> Response:
    path = folder / name
    kind = PAGE_TYPES.get(path.suffix)
    if kind is None or not _NAME.match(name) or not path.is_file():
        raise not_found(f"there is no '{name[:100]}'")
    return FileResponse(path, media_type=kind, headers={"Cache-Control": "no-cache"})


def _add_refusals(app: FastAPI) -> None:
    """Let everything that is refused be said in one form."""

    @app.exception_handler(ServiceError)
    def refused(request: Request, error: ServiceError) -> Response:
        return _problem(error.status, error.code, str(error))

    @app.exception_handler(KingpostError)
    def failed(request: Request, error: KingpostError) -> Response:
        return _problem(422, "refused", str(error))

    @app.exception_handler(RequestValidationError)
    def not_understood(request: Request, error: RequestValidationError) -> Response:
        said = [f"{'.'.join(map(str, entry['loc']))}: {entry['msg']}" for entry in error.errors()[:5]]
        return _problem(422, "form", "; ".join(said))

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        code = {404: "not-found", 405: "method"}.get(error.status_code, "refused")
        return _problem(error.status_code, code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(OSError)
    def no_room(request: Request, error: OSError) -> Response:
        if not says_full(str(error)):
            return fault(request, error)
        return _problem(507, "disk-full", "the disk of the project is full; make room, and ask again")

    @app.exception_handler(Exception)
    def fault(request: Request, error: Exception) -> Response:
        logging.getLogger("kingpost.service").error("%s %s", request.method, request.url.path, exc_info=error)
        return _problem(500, "fault", "this is a fault in kingpost; the log of the server has the details, please report it")


def _problem(status: int, code: str, sentence: str, headers: dict[str, Any] | None = None) -> JSONResponse:
    return JSONResponse({"error": sentence, "code": code}, status_code=status, headers=headers)
