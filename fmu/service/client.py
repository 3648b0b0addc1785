"""A small client of a server, which needs nothing but the standard library."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

from kingpost.base.errors import FileError, KingpostError
from kingpost.fmu.service.errors import ServiceError

#: Where a client looks for a server if nobody says otherwise.
ADDRESS = "http://127.0.0.1:8765"
#: Variables of the environment with the address and the token of a server.
ADDRESS_VARIABLE, TOKEN_VARIABLE = "KINGPOST_SERVER", "KINGPOST_TOKEN"
ENDED = ("done", "failed", "cancelled")


class NoServerError(KingpostError):
    """Nobody answers."""


@dataclass(frozen=True)
class Client:
    """What a server can be asked for.

    >>> client = Client.of("project")  # doctest: +SKIP
    >>> job = client.submit("run", model="vessel-crane", options={"t_end": 5})  # doctest: +SKIP
    >>> client.wait(job)["state"]  # doctest: +SKIP
    'done'
    """

    address: str
    token: str
    #: Seconds that an answer may take.
    timeout: float = 60.0

    @classmethod
    def of(cls, folder: str | Path | None = None, address: str | None = None, token_file: str | Path | None = None) -> Client:
        """Return a client of the server that works in a folder, or of the one that the environment names."""
        where = address or os.environ.get(ADDRESS_VARIABLE) or _address_in(folder) or ADDRESS
        token = os.environ.get(TOKEN_VARIABLE, "")
        place = Path(token_file) if token_file is not None else None if folder is None else Path(folder) / "token"
        if place is not None:
            try:
                token = place.read_text(encoding="ascii").strip()
            except OSError as error:
                raise FileError(f"the token cannot be read: {error}; is '{place.parent}' the folder of a server?") from None
        if not token:
            raise KingpostError(f"a server asks for its token: give --token-file FILE, or set {TOKEN_VARIABLE}")
        return cls(where.rstrip("/"), token)

    def submit(self, kind: str, *, key: str | None = None, **asked: Any) -> int:
        """Submit a job (``model=``, ``file=``, ``settings=``, ``options=`` ...); return its number.

        The request carries a key, so that it is safe to be repeated: whoever gives the same one gets the same job.
        """
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        body = {"kind": kind, **{name: value for name, value in asked.items() if value is not None}}
        return int(self.ask("POST", "jobs", body, headers)["id"])

    def upload(self, path: str | Path) -> dict[str, Any]:
        """Upload a file; return what the server says of it, with its hash."""
        path = Path(path)
        try:
            size = path.stat().st_size
            with path.open("rb") as stream:
                headers = {
                    "X-Filename": quote(path.name),
                    "Content-Type": "application/octet-stream",
                    "Content-Length": str(size),
                }
                return dict(self._json(Request(self._url("files"), stream, headers, method="POST")))
        except OSError as error:
            raise FileError(f"'{path}' cannot be read: {error}") from None

    def job(self, job: int) -> dict[str, Any]:
        """Return a job as it is now."""
        return dict(self.ask("GET", f"jobs/{job}"))

    def jobs(self, **chosen: Any) -> dict[str, Any]:
        """Return jobs, the newest first, and how many there are of each state (``state=``, ``kind=``, ``limit=``)."""
        words = urlencode({name: value for name, value in chosen.items() if value is not None})
        return dict(self.ask("GET", f"jobs?{words}" if words else "jobs"))

    def cancel(self, job: int) -> str:
        return str(self.ask("POST", f"jobs/{job}/cancel")["state"])

    def delete(self, job: int) -> str:
        return str(self.ask("DELETE", f"jobs/{job}")["state"])

    def again(self, job: int) -> int:
        return int(self.ask("POST", f"jobs/{job}/again")["id"])

    def log(self, job: int) -> str:
        with self._open(Request(self._url(f"jobs/{job}/log"))) as answer:
            return str(answer.read().decode("utf-8", errors="replace"))

    def wait(
        self, job: int, tell: Callable[[dict[str, Any]], None] | None = None, limit: float = float("inf")
    ) -> dict[str, Any]:
        """Wait until a job has ended and return it; a server that is away for a while is waited for, too."""
        end, pause = time.monotonic() + limit, 0.1
        while True:
            try:
                found = self.job(job)
                if tell is not None:
                    tell(found)
                if found["state"] in ENDED:
                    return found
            except NoServerError:
                pause = 1.0
            if time.monotonic() > end:
                raise TimeoutError(f"job {job} has not ended within {limit:g} s")
            time.sleep(pause)
            pause = min(1.0, 1.5 * pause)

    def download(self, job: int, folder: str | Path) -> list[Path]:
        """Fetch all files of a job into a folder; return them."""
        found = []
        for entry in self.job(job)["files"]:
            target = (Path(folder) / entry["name"]).resolve()
            if not target.is_relative_to(Path(folder).resolve()):
                raise FileError(f"the server names a file outside of '{folder}': '{entry['name']}'")
            target.parent.mkdir(parents=True, exist_ok=True)
            with (
                self._open(Request(self._url(f"jobs/{job}/files/{quote(entry['name'])}"))) as answer,
                target.open("wb") as stream,
            ):
                shutil.copyfileobj(answer, stream)
            found.append(target)
        return found

    def events(self, job: int | None = None, since: str | None = None) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield (what, id, data) of events as they happen; ``since`` is the id of the last one that was seen."""
        headers = {} if since is None else {"Last-Event-ID": since}
        what, mark = "message", ""
        with self._open(Request(self._url("events" if job is None else f"jobs/{job}/events"), headers=headers)) as answer:
            for raw in answer:
                name, _, value = raw.decode("utf-8").rstrip("\n").partition(": ")
                if name == "event":
                    what = value
                elif name == "id":
                    mark = value
                elif name == "data":
                    yield what, mark, json.loads(value)

    def ask(self, method: str, route: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """Ask for anything in the API, e.g. ``ask("GET", "models")``."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        known = {"Content-Type": "application/json"} if data is not None else {}
        return self._json(Request(self._url(route), data, {**known, **(headers or {})}, method=method))

    def _url(self, route: str) -> str:
        return f"{self.address}/api/v1/{route}"

    def _json(self, request: Request) -> Any:
        with self._open(request) as answer:
            return json.loads(answer.read() or b"null")

    def _open(self, request: Request) -> Any:
        request.add_header("Authorization", f"Bearer {self.token}")
        if urlsplit(request.full_url).scheme not in ("http", "https"):
            raise KingpostError(f"'{self.address}' is no address of a server; write for example {ADDRESS}")
        try:
            return urlopen(request, timeout=self.timeout)
        except HTTPError as error:
            raise _refusal(error) from None
        except URLError as error:
            raise NoServerError(f"no server answers at {self.address}: {error.reason}; start one: kingpost serve") from None
        except (ConnectionError, TimeoutError, HTTPException) as error:
            raise NoServerError(f"the server at {self.address} broke off: {error!r}") from None


def _refusal(error: HTTPError) -> ServiceError:
    with error:
        try:
            said = json.loads(error.read())
            sentence, code = str(said["error"]), str(said["code"])
        except (ValueError, KeyError, TypeError):
            sentence, code = f"the server answers {error.code}", "refused"
    return ServiceError(sentence, status=error.code, code=code)


def _address_in(folder: str | Path | None) -> str:
    """Return where the server of a project says that it listens, or nothing."""
    if folder is None:
        return ""
    try:
        return (Path(folder) / "address").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
