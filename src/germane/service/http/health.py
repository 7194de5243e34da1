"""Health: the routes `/health`, `/ready` and `/metrics`.

They return no remembered content, need no API key and never redirect. No header of a request is trusted or used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_NO_STORE = {"cache-control": "no-store"}


def app(
    *,
    reasons: Callable[[], Sequence[str]],
    alive: Callable[[], Awaitable[None]] | None = None,
    degraded: Callable[[], Sequence[str]] = tuple,
    metrics: Callable[[], bytes] | None = None,
    metrics_type: str = "text/plain; version=0.0.4; charset=utf-8",
    version: str = "",
) -> Starlette:
    """Builds the application.

    `alive` returns once the engine's event loop has had a turn, where the port has a loop of its own. `reasons` returns why
    the service isn't ready, nothing when it is ready; `degraded` returns what is missing meanwhile although calls are answered,
    such as an embedder. `metrics` returns the body of `/metrics`; it runs in a thread and never twice at once. With None the
    route `/metrics` doesn't exist.
    """
    metrics_lock = asyncio.Lock()

    async def health(request: Request) -> Response:
        """Always 200: an answer proves that the process lives and its event loops run."""
        if alive is not None:
            await alive()
        return JSONResponse({"status": "alive", "version": version}, headers=_NO_STORE)

    async def ready(request: Request) -> Response:
        not_ready = list(reasons())
        code, status = (503, "not ready") if not_ready else (200, "ready")
        missing = {"degraded": found} if (found := list(degraded())) else {}
        return JSONResponse({"status": status, "reasons": not_ready, **missing}, code, headers=_NO_STORE)

    async def render_metrics(request: Request) -> Response:
        assert metrics is not None
        async with metrics_lock:
            text = await asyncio.to_thread(metrics)
        return Response(text, headers=_NO_STORE | {"content-type": metrics_type})

    routes = [Route("/health", health), Route("/ready", ready)]
    if metrics is not None:
        routes.append(Route("/metrics", render_metrics))
    application = Starlette(routes=routes, exception_handlers={HTTPException: _http_error, Exception: _server_error})
    application.router.redirect_slashes = False
    return application


async def _http_error(request: Request, error: Exception) -> Response:
    """Answers an unknown path or method with JSON. The answer doesn't repeat the path."""
    assert isinstance(error, HTTPException)
    text = {404: "not found", 405: "method not allowed"}.get(error.status_code, "refused")
    return JSONResponse({"error": text}, error.status_code, headers=error.headers)


async def _server_error(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "internal"}, 500)
