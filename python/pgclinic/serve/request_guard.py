"""Who may ask for a page: who calls this server by one of its names, from its own pages, with the token if it has one.

A page of another site that is open in the same browser can send requests here, and with a name of its own that leads to
this machine (DNS rebinding) it could read the answers. Such requests carry that site's name in Host or Origin.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgclinic.report.live.page import FOREIGN, ONLY_GET, TOO_LONG, WRONG_TOKEN, token_page

_COOKIE = "pgclinic"
_TOKEN_PATH = "/token"
_FORM_BYTES_MAX = 4096
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class RequestGuard:
    """Lets through what may be answered by ``app``. ``names`` are those by which browsers reach this server.

    With a ``token`` each request needs it as ``Authorization: Bearer``, or the cookie that the form for it gives. The
    cookie holds another secret, which ends with the process.
    """

    def __init__(self, app: ASGIApp, names: Collection[str], token: str | None) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)
        self._token = token
        self._session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = await self._refused(Request(scope, receive))
        await (answer if answer is not None else self._app)(scope, receive, guarded)

    async def _refused(self, request: Request) -> Response | None:
        """The answer to a request that ``app`` does not get."""
        if not self._is_own(request):
            return PlainTextResponse(FOREIGN, 403)
        if self._token is not None and request.url.path == _TOKEN_PATH:
            return await self._asked(request, self._token)
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse(ONLY_GET, 405, {"Allow": "GET, HEAD"})
        if self._token is not None and not self._is_known(request, self._token):
            return HTMLResponse(token_page(None), 401)
        return None

    def _is_own(self, request: Request) -> bool:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        return name in self._names and origin in (None, f"{request.url.scheme}://{host}")

    def _is_known(self, request: Request, token: str) -> bool:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return _same(given.strip(), token)
        return _same(request.cookies.get(_COOKIE, ""), self._session)

    async def _asked(self, request: Request, token: str) -> Response:
        """The form, or the cookie for a token that is right."""
        if request.method != "POST":
            return HTMLResponse(token_page(None))
        form = b""
        async for chunk in request.stream():
            form += chunk
            if len(form) > _FORM_BYTES_MAX:
                return PlainTextResponse(TOO_LONG, 413)
        given = parse_qs(form.decode("utf-8", "replace")).get("token", [""])[0]
        if not _same(given.strip(), token):
            return HTMLResponse(token_page(WRONG_TOKEN), 403)
        answer = RedirectResponse("/", 303)
        is_secure = request.url.scheme == "https"
        answer.set_cookie(_COOKIE, self._session, httponly=True, samesite="strict", secure=is_secure)
        return answer


def _same(given: str, wanted: str) -> bool:
    """In a time that says nothing of how much of it is right."""
    return hmac.compare_digest(given.encode(), wanted.encode())
