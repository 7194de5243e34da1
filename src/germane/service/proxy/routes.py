"""Proxy routes: which upstream a request's target names, for whom, and the target that goes on to it.

    /proxy/openai/v1/chat/completions
    /proxy/openai/agent:support/user:ana/session:42/v1/responses?stream=true

What stands behind the upstream's name and the names of agent, user and session goes on byte for byte, behind the upstream's own
path. A target that could lead to another host, or out of that path, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import unquote, unquote_to_bytes

from germane.errors import InvalidInput
from germane.service.http.problems import HttpRefused
from germane.settings.upstreams import Upstream
from germane.types.checks import check_text
from germane.types.limits import NAME

ROOT = b"/proxy/"
_WHO = ("agent", "user", "session")
_DOTS = (b".", b"..")
_DECODINGS = 3
"""How often a segment is percent-decoded in search of dots: a server behind another may decode what the first one left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRoute:
    """Where a request goes. `target` is what the upstream is sent, with the query. `agent`, `user` and `session` are the names
    in the path, None where it has none."""

    upstream: Upstream
    target: bytes
    agent: str | None = None
    user: str | None = None
    session: str | None = None


def is_proxied(target: bytes) -> bool:
    """Whether a request with this target is the proxy's."""
    return target.startswith(ROOT)


def proxy_route(target: bytes, upstreams: Mapping[str, Upstream]) -> ProxyRoute:
    """Returns the route of a target as it came. Raises `HttpRefused` for an upstream that isn't one, and for a path that can't
    be sent on safely."""
    path, mark, query = target.removeprefix(ROOT).partition(b"?")
    name, rest = _cut(b"/" + path)
    upstream = upstreams.get(name.decode("ascii", "replace")) if is_proxied(target) else None
    if upstream is None:
        raise HttpRefused(
            HTTPStatus.NOT_FOUND, "no upstream of the service has this name: germane serve --upstream NAME adds one"
        )
    who: dict[str, str] = {}
    while (found := _named(rest)) is not None:
        key, value, rest = found
        if key in who:
            raise HttpRefused(HTTPStatus.BAD_REQUEST, f"the path names the {key} twice")
        who[key] = value
    _check(rest)
    return ProxyRoute(upstream=upstream, target=(upstream.base.encode() + rest or b"/") + mark + query, **who)


def _cut(path: bytes) -> tuple[bytes, bytes]:
    """The first segment of a path that begins with a slash, and what follows, with its slash."""
    segment, slash, rest = path[1:].partition(b"/")
    return segment, slash + rest


def _named(path: bytes) -> tuple[str, str, bytes] | None:
    """What the first segment names, such as agent and support, and the path behind it. None where it names nothing."""
    segment, rest = _cut(path)
    key, colon, written = segment.partition(b":")
    name = key.decode("ascii", "replace")
    if not colon or name not in _WHO:
        return None
    try:
        value = check_text(name, unquote(written.decode("ascii"), errors="strict"), NAME)
    except (InvalidInput, UnicodeError):
        value = ""
    if not value.strip():
        text = f"the {name}'s name in the path must be UTF-8, percent-encoded, of up to {NAME.maximum} characters"
        raise HttpRefused(HTTPStatus.BAD_REQUEST, text)
    return name, value, rest


def _check(path: bytes) -> None:
    """Raises `HttpRefused` for a path that a server may read as another host's, or as one above its own."""
    if path.startswith(b"//"):
        raise HttpRefused(HTTPStatus.BAD_REQUEST, "behind the upstream's name the path has two slashes: give one")
    if b"\\" in path or b"#" in path:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, "the path holds a backslash or a #, which servers read in different ways")
    for read in _readings(path):
        if any(segment.partition(b";")[0] in _DOTS for segment in read.replace(b"\\", b"/").split(b"/")):
            raise HttpRefused(
                HTTPStatus.BAD_REQUEST, "the path has a segment of dots, which would leave the upstream's own path"
            )


def _readings(path: bytes) -> Iterator[bytes]:
    """The path as it stands, and as servers may decode it."""
    yield path
    for _ in range(_DECODINGS):
        if b"%" not in path:
            return
        path = unquote_to_bytes(path)
        yield path
