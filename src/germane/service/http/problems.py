"""Problems: errors as problem details (RFC 9457), `application/problem+json`.

    {"type": "urn:germane:problem:invalid-input", "title": "a value can't be used", "status": 400,
     "detail": "limit must be from 1 to 1,000, not 0", "path": "limit"}

The texts are those of gRPC's statuses (`refusals.py`): they name fields, types and the request's own names, and hold no
content.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from germane.errors import ConsentNeeded, GermaneError, InvalidInput, MissingExtra, Stale, StoreCorrupt, StoreTooNew
from germane.grpc.server.refusals import Refused, hiding, refusal
from germane.types.json_text import write_json

PROBLEM_TYPE = "application/problem+json"
_STATUSES: Mapping[str, HTTPStatus] = MappingProxyType(
    {
        "INVALID_ARGUMENT": HTTPStatus.BAD_REQUEST,
        "UNAUTHENTICATED": HTTPStatus.UNAUTHORIZED,
        "PERMISSION_DENIED": HTTPStatus.FORBIDDEN,
        "NOT_FOUND": HTTPStatus.NOT_FOUND,
        "UNIMPLEMENTED": HTTPStatus.NOT_FOUND,
        "ALREADY_EXISTS": HTTPStatus.CONFLICT,
        "FAILED_PRECONDITION": HTTPStatus.CONFLICT,
        "RESOURCE_EXHAUSTED": HTTPStatus.TOO_MANY_REQUESTS,
        "UNAVAILABLE": HTTPStatus.SERVICE_UNAVAILABLE,
        "DEADLINE_EXCEEDED": HTTPStatus.REQUEST_TIMEOUT,
    }
)
"""HTTP's statuses for gRPC's; any other is 500."""
_FAULTS: tuple[tuple[type[GermaneError], HTTPStatus], ...] = (
    (StoreCorrupt, HTTPStatus.INTERNAL_SERVER_ERROR),
    (StoreTooNew, HTTPStatus.INTERNAL_SERVER_ERROR),
    (MissingExtra, HTTPStatus.NOT_IMPLEMENTED),
)
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Between the words of a class's name."""
_RETRIED = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_RETRY_SECONDS = 1


class HttpRefused(Exception):
    """The request is refused with this status before any operation is called. The text holds nothing that a caller sent."""

    def __init__(self, status: HTTPStatus, text: str, **headers: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a caller is told. `code` is the gRPC status of the same error, by which metrics and log count it."""

    status: HTTPStatus
    kind: str
    title: str
    detail: str
    code: str
    path: str = ""
    advice: str = ""
    more: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The problem as JSON."""
        told: dict[str, Any] = {
            "type": f"urn:germane:problem:{self.kind}",
            "title": self.title,
            "status": self.status.value,
            "detail": self.detail,
        }
        told |= {name: value for name, value in (("path", self.path), ("advice", self.advice)) if value}
        return write_json({**told, **self.more})


_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "conflict": "something else is stored there",
        "consent-needed": "somebody has to agree first",
        "invalid-input": "a value can't be used",
        "not-found": "no such thing in this scope",
        "not-permitted": "a block's permission doesn't allow it",
        "stale": "it was changed since it was read",
        "unknown-name": "nothing has this name",
    }
)


def problem(error: BaseException, names: Collection[object] = (), *, conditional: bool = False) -> Problem:
    """Returns the problem of an error. `names` are names in the request, which the text may show; `conditional` says that the
    request had a precondition (`If-Match`)."""
    if isinstance(error, HttpRefused):
        unknown = error.status == HTTPStatus.NOT_FOUND  # of a path: the kind "not-found" is of a thing in the scope
        kind = "unimplemented" if unknown else error.status.phrase.lower().replace(" ", "-")
        return Problem(
            status=error.status,
            kind=kind,
            title=error.status.phrase.lower(),
            detail=error.text,
            code="INVALID_ARGUMENT" if error.status < 500 else "UNAVAILABLE",
            headers=error.headers,
        )
    code, text = refusal(error, names=names)
    status = next((status for kind, status in _FAULTS if isinstance(error, kind)), None)
    status = status or _STATUSES.get(code.name, HTTPStatus.INTERNAL_SERVER_ERROR)
    if isinstance(error, Stale) and conditional:
        status = HTTPStatus.PRECONDITION_FAILED
    headers: dict[str, str] = {}
    if status in _RETRIED:
        headers["retry-after"] = str(_RETRY_SECONDS)
    if status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    kind = _kind(error, code.name)
    show = hiding(names)
    return Problem(
        status=status,
        kind=kind,
        title=_TITLES.get(kind, status.phrase.lower()),
        detail=text,
        code=code.name,
        path=error.placed(show) if isinstance(error, InvalidInput) else "",
        advice=error.advised(show) if isinstance(error, InvalidInput) else "",
        more={"consent_request": error.request, "asked_of": error.asked_of} if isinstance(error, ConsentNeeded) else {},
        headers=headers,
    )


def _kind(error: BaseException, code: str) -> str:
    """The error's class in kebab case; of the port's own refusals, the status."""
    if isinstance(error, Refused) or not isinstance(error, GermaneError):
        return code.lower().replace("_", "-")
    return _HUMPS.sub("-", type(error).__name__).lower()
