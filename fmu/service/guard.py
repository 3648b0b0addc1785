"""Who may ask: the token always, and only under our own name, so that neither other users nor foreign pages reach the jobs."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "kingpost_token"
#: What can be asked for without a token.
OPEN = ("/api/v1/health",)
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": CONTENT_POLICY,
}
NO_TOKEN = (
    "this needs the token of the server: send 'Authorization: Bearer TOKEN', or open the address that 'kingpost serve' printed"
)


class Guard:
    """Middleware that refuses strangers and puts strict headers on every answer."""

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str]) -> None:
        self.app, self.token = app, token.encode()
        self.hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(scope, send, *refusal)
            return
        if scope["type"] == "http" and scope["path"] == "/" and self._in_query(scope):
            await _welcome(send, self.token.decode())
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    if name not in headers:
                        headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if host not in self.hosts or len(headers.getlist("host")) != 1:
            return 403, "host", f"this server does not answer as '{host[:100]}'; 'kingpost serve --allow-host NAME' adds a name"
        origin = headers.get("origin")
        if origin is not None and urlsplit_host(origin) not in self.hosts:
            return 403, "origin", f"pages of '{origin[:100]}' may not use this server"
        if headers.get("sec-fetch-site") == "cross-site" and scope["path"].startswith("/api/"):
            return 403, "origin", "pages of other sites may not use this server"
        if scope["type"] == "http" and scope["path"] in OPEN:
            return None
        if not self._known(headers) and not (scope["path"] == "/" and self._in_query(scope)):
            return 401, "token", NO_TOKEN
        return None

    def _known(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme:
            return scheme.lower() == "bearer" and self._same(given.strip())
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and self._same(cookies[COOKIE].value)

    def _in_query(self, scope: Scope) -> bool:
        try:
            given = parse_qs(scope.get("query_string", b"").decode("ascii"))
        except (UnicodeDecodeError, ValueError):
            return False
        return any(self._same(word) for word in given.get("token", []))

    def _same(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", errors="replace"), self.token)


def urlsplit_host(origin: str) -> str:
    """Return the host, with its port, of an origin; nothing for one that is none."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""


async def _welcome(send: Send, token: str) -> None:
    """Keep the token in a cookie, which scripts cannot read, and lead on to the page without it in the address."""
    headers = {
        **HEADERS,
        "Location": "/",
        "Set-Cookie": f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000",
        "Content-Length": "0",
    }
    await _send(send, 303, headers, b"")


async def _refuse(scope: Scope, send: Send, status: int, code: str, sentence: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": sentence[:100]})
        return
    body = json.dumps({"error": sentence, "code": code}).encode()
    kind = "application/json"
    if status == 401 and scope["path"] == "/":
        body, kind = f"<!doctype html><title>Kingpost</title><p>{sentence}</p>".encode(), "text/html; charset=utf-8"
    headers = {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    await _send(send, status, headers, b"" if scope["method"] == "HEAD" else body)


async def _send(send: Send, status: int, headers: dict[str, str], body: bytes) -> None:
    raw: Any = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
