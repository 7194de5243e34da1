"""Callers: who a proxied request comes from, and whose memory it gets.

A service that asks for keys finds germane's own in `X-Germane-Key`; where the operator's key for the upstream is used, also
where the caller's library puts a provider's. Whoever has none that holds is refused. A key that can't be verified at the
moment, and a port without a free slot, cost the caller the memory alone: the call goes on as it came, unless the operator would
pay for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from germane.errors import GermaneError
from germane.grpc.server.admission import Ports
from germane.grpc.server.refusals import Refused
from germane.kinds.keys.value import KEY_PREFIX, Grant
from germane.service.http.problems import HttpRefused
from germane.service.proxy.headers import OWN, PROVIDER_KEYS
from germane.service.proxy.requests import ProxyRequest
from germane.service.proxy.routes import ProxyRoute
from germane.settings.upstreams import Upstream
from germane.types.scope import Scope

_AGENT = "default"
_USERS = ("safety_identifier", "user")
"""Fields of OpenAI's bodies that name the person whom the call is for."""
_NEEDS_KEY = "an API key of this service is needed that holds: send  X-Germane-Key: gk_…  (germane keys create makes one)"
_MISPLACED_KEY = (
    "a key of this service stands where the provider's belongs, and would be sent to the provider: send it as X-Germane-Key"
)
_TRUE = ("true", "1", "yes", "on")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls. `grant` is what the key allows, None where the service asks for none. `unknown` says why nobody knows who it
    is, so that the call gets no memory; empty where it may get some."""

    grant: Grant | None = None
    unknown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Whose memory a call is about; `user` None is the agent's own. `session` is None where the caller names none."""

    org: str
    agent: str
    user: str | None
    zone: str
    session: str | None


async def admitted(request: ProxyRequest, upstream: Upstream, ports: Ports) -> Caller:
    """Admits a request as the service's other calls are. Raises `HttpRefused` for one that mustn't be sent on."""
    if ports.keys is None:
        request.http.check_origin()
    if _is_misplaced(request, upstream):
        raise HttpRefused(HTTPStatus.BAD_REQUEST, _MISPLACED_KEY)
    try:
        grant = await ports.admission.admit(_presented(request, upstream), "read", lambda: request.http.peer)
        return Caller(grant=grant, unknown="invalid_input" if request.is_ambiguous else "")
    except Refused as refused:
        if refused.code.name == "UNAUTHENTICATED":
            raise HttpRefused(HTTPStatus.UNAUTHORIZED, _NEEDS_KEY) from None
        why = "shed" if refused.code.name == "RESOURCE_EXHAUSTED" else "key_unverified"
    except GermaneError:
        why = "key_unverified"
    if upstream.key is not None:
        raise HttpRefused(HTTPStatus.SERVICE_UNAVAILABLE, "the service can't verify the API key now: try again")
    return Caller(unknown=why)


def _is_misplaced(request: ProxyRequest, upstream: Upstream) -> bool:
    """Whether one of germane's keys stands in a header that goes to the upstream, whatever stands beside it. The headers of
    providers' keys don't go there where the operator's key takes their place."""
    sent = ((name.lower(), value) for name, value in request.headers if not name.lower().startswith(OWN))
    return any(
        value.rpartition(b" ")[2].startswith(KEY_PREFIX.encode())
        for name, value in sent
        if upstream.key is None or name not in PROVIDER_KEYS
    )


def skipped(request: ProxyRequest, upstream: Upstream) -> bool:
    """Whether the request goes as it came, whatever it is."""
    return not upstream.inject or request.own.get("skip", "").strip().lower() in _TRUE


def whose(caller: Caller, request: ProxyRequest, route: ProxyRoute, body: Mapping[str, Any]) -> Whose:
    """Returns whose memory a call is about, by its headers, else its path, else its body. The key may not allow that."""
    own = request.own
    return Whose(
        org=Scope().org if caller.grant is None else caller.grant.org,
        agent=own.get("agent") or route.agent or _AGENT,
        user=own.get("user") or route.user or user_in(body),
        zone=own.get("zone") or Scope().zone,
        session=own.get("session") or route.session,
    )


def user_in(body: Mapping[str, Any]) -> str | None:
    """Returns the person whom the body names for the provider, None where it names none. What coding agents write there tells
    the account and the session of one person, so it names nobody."""
    metadata = body.get("metadata")
    named = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    for given in (*(body.get(name) for name in _USERS), None if _of_agent(named) else named):
        if isinstance(given, str) and given.strip():
            return given.strip()
    return None


def _of_agent(user_id: object) -> bool:
    """Whether a coding agent wrote this: `user_…_account_…_session_…`, or an object as JSON."""
    if not isinstance(user_id, str) or "_session_" in user_id:
        return True
    try:
        return isinstance(json.loads(user_id), dict)
    except (ValueError, RecursionError):
        return False


def _presented(request: ProxyRequest, upstream: Upstream) -> Iterator[tuple[str, str]]:
    """The headers in which admission looks for germane's key."""
    if key := request.own.get("key"):
        yield "authorization", f"Bearer {key}"
    elif upstream.key is not None:
        yield from request.http.metadata
