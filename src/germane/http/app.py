"""App: the routes over HTTP: `/health`, `/ready`, `/metrics`, and nothing else. They hold no content, need no key and trust no
header: what a request says of its host is used for nothing, and nothing redirects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

__all__ = ["app"]

_NO_STORE = {"cache-control": "no-store"}


def app(
    *,
    reasons: Callable[[], Sequence[str]],
    metrics: Callable[[], bytes] | None = None,
    metrics_type: str = "text/plain; version=0.0.4; charset=utf-8",
    version: str = "",
) -> Starlette:
    """`reasons` why the service isn't ready, none when it is. `metrics` is called in a thread, once at a time; None: there are
    none."""
    one = asyncio.Lock()

    async def health(request: Request) -> Response:
        """The process lives and its loop comes round: to be answered is the answer."""
        return JSONResponse({"status": "alive", "version": version}, headers=_NO_STORE)

    async def ready(request: Request) -> Response:
        found = list(reasons())
        status, said = (503, "not ready") if found else (200, "ready")
        return JSONResponse({"status": said, "reasons": found}, status, headers=_NO_STORE)

    async def measured(request: Request) -> Response:
        assert metrics is not None
        async with one:
            text = await asyncio.to_thread(metrics)
        return Response(text, headers=_NO_STORE | {"content-type": metrics_type})

    routes = [Route("/health", health), Route("/ready", ready)]
    if metrics is not None:
        routes.append(Route("/metrics", measured))
    made = Starlette(routes=routes, exception_handlers={HTTPException: _refused, Exception: _failed})
    made.router.redirect_slashes = False
    return made


async def _refused(request: Request, error: Exception) -> Response:
    """What isn't there, or not by that method, as JSON. The path isn't repeated."""
    assert isinstance(error, HTTPException)
    said = {404: "not found", 405: "method not allowed"}.get(error.status_code, "refused")
    return JSONResponse({"error": said}, error.status_code, headers=error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "internal"}, 500)
