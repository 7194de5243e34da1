"""Proxy refusals: errors of the proxy's own, in the shape that the caller's library reads.

A library that calls a provider reads only that provider's errors. These come before any answer of the upstream's began; they
hold nothing that a caller sent, and no address or key.
"""

from __future__ import annotations

import json
import ssl
from http import HTTPStatus
from typing import Any

import httpcore2

from germane.service.http.answers import HttpAnswer
from germane.service.http.problems import HttpRefused
from germane.service.http.requests import HttpRequest
from germane.settings.upstreams import Upstream

_ANTHROPIC: dict[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}
"""The kinds of error by status; any other is `invalid_request_error` below 500 and `api_error` above."""
_OPENAI: dict[int, tuple[str, str | None]] = {
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("insufficient_permissions", None),
    429: ("requests", "rate_limit_exceeded"),
    502: ("server_error", "upstream_unreachable"),
    504: ("server_error", "upstream_timeout"),
}
"""The kinds of error and their codes by status; any other is `invalid_request_error` below 500 and `server_error` above."""


def refusal(request: HttpRequest, refused: HttpRefused) -> HttpAnswer:
    """Returns the answer to a request that is refused."""
    body = (_anthropic if _speaks_anthropic(request) else _openai)(refused.status, refused.text)
    return HttpAnswer(refused.status, {"content-type": "application/json", **refused.headers}, json.dumps(body).encode())


def _speaks_anthropic(request: HttpRequest) -> bool:
    """Whether the caller expects Anthropic's shapes: its library names a version, and its paths are below `/v1/messages`."""
    return "anthropic-version" in request.headers or b"/v1/messages" in request.raw_path


def _anthropic(status: HTTPStatus, message: str) -> dict[str, Any]:
    kind = _ANTHROPIC.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def _openai(status: HTTPStatus, message: str) -> dict[str, Any]:
    kind, code = _OPENAI.get(status, ("invalid_request_error" if status < 500 else "server_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def unreachable(upstream: Upstream, error: BaseException) -> HttpRefused:
    """Returns what the caller is told where the connection to the upstream fails with this error. The text holds no address:
    where the operator's upstreams are is nothing that callers need."""
    status = HTTPStatus.BAD_GATEWAY
    match error:
        case httpcore2.TimeoutException():
            status, why = HTTPStatus.GATEWAY_TIMEOUT, "it accepted no connection in time: try again, or check its url"
        case httpcore2.ProxyError():
            why = "the HTTP proxy on the way to it refused: check https_proxy of the service's environment"
        case httpcore2.ConnectError(args=[ssl.SSLError()]):
            why = "its certificate can't be verified: check its url, or give its ca"
        case httpcore2.ConnectError():
            why = "no connection could be made: check its url, and that it runs"
        case _:
            why = "it closed the connection without an answer that can be read: try again"
    return HttpRefused(status, f"the service can't reach its upstream {upstream.name}: {why}")
