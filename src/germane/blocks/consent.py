"""Consent: the plan that answers a request for consent: approves it once, for a time or for the block, or denies it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from germane.blocks.consent_request import ConsentRequest, ConsentScope
from germane.blocks.operations import ConsentById, PutConsent
from germane.errors import InvalidInput, NotFound
from germane.types.limits import shown
from germane.types.plan import Decision, Plan, read

__all__ = ["MAX_CONSENT", "answer_consent", "consent_scope"]

MAX_CONSENT = timedelta(days=366)
"""The longest time that an approval can be for."""


def consent_scope(value: object) -> tuple[ConsentScope, timedelta | None]:
    """Returns what an approval covers: `once`, `block`, or a number of seconds. Raises `InvalidInput`."""
    if value == "once":
        return "once", None
    if value == "block":
        return "block", None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_CONSENT.total_seconds():
        return "until", timedelta(seconds=value)
    raise InvalidInput(f"scope must be 'once', 'block' or a number of seconds up to a year, not {shown(value)}")


def answer_consent(
    id: str, *, approve: bool, scope: ConsentScope = "once", lasting: timedelta | None = None, at: datetime
) -> Plan[ConsentRequest]:
    """Answers a request on one of the scope's own blocks; the outcome is the request. The same answer again changes nothing.
    Raises `NotFound`, and `InvalidInput` where it was answered otherwise or has expired."""
    request = yield from read(ConsentById(id))
    if request is None:
        raise NotFound(f"no request for consent {shown(id)} here")
    state = request.state_at(at)
    if state == "expired":
        raise InvalidInput(
            f"the request expired at {request.expires_at:%Y-%m-%d %H:%M:%S} UTC: try the edit again to ask again"
        )
    if state != "pending":
        same = (state == "approved") == approve and (not approve or _same(request, scope, lasting))
        if not same:
            raise InvalidInput(f"the request was {state} already: its answer can't be changed")
        return Decision((), request)
    until = at + lasting if approve and lasting is not None else None
    answered = replace(
        request,
        state="approved" if approve else "denied",
        scope=scope if approve else None,
        until=until,
        answered_at=at,
    )
    return Decision((PutConsent(answered),), answered)


def _same(request: ConsentRequest, scope: ConsentScope, lasting: timedelta | None) -> bool:
    """Whether an approval covers what was approved before. The time of an approval counts from its answer."""
    if request.scope != scope:
        return False
    return request.until is None or request.answered_at is None or request.until - request.answered_at == lasting
