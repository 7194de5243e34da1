"""Prepared: a new typed event in the form in which it is stored."""

from __future__ import annotations

from datetime import datetime, timedelta

from germane.clock import aware
from germane.kinds.events.value import Event, NewEvent, typed_hash
from germane.kinds.events.wording import wording
from germane.kinds.messages.plans import Origin
from germane.kinds.messages.prepared import SecretNote, slim
from germane.text.normal import valid_unicode
from germane.text.secrets.detection import SecretScreen
from germane.types.candidate import Provenance
from germane.types.checks import check_size
from germane.types.limits import MESSAGE_TEXT


def prepared_event(new: NewEvent, origin: Origin, *, now: datetime, after: int = 0) -> Event:
    """Returns the event in the form in which it is stored, with `now`, and a microsecond more for each event `after` which it
    comes, where it has no time of its own. Its position is still 0.
    The policy on secrets is applied to all that is kept of it; its hash is that of the text as given. Raises `InvalidInput` for
    a text that is too long, a time outside the years 1 to 9999, and a secret that the policy refuses."""
    now = now + timedelta(microseconds=after)
    content = valid_unicode(new.content) if isinstance(new.content, str) else slim(new.content or {})
    whole = wording(valid_unicode(new.type), content)
    check_size("content", len(whole), MESSAGE_TEXT)
    screen = SecretScreen(origin.secrets, "an event")
    kept, text = screen.json(content), whole
    outcome, metadata = screen.text(valid_unicode(new.outcome)), screen.json(slim(new.metadata))
    if screen.found or screen.left_out or origin.secrets != "off":
        text = screen.again(wording(valid_unicode(new.type), kept))
    given = typed_hash(new.type, new.outcome, whole)
    if screen.found or screen.left_out:
        left = typed_hash(valid_unicode(new.type), outcome, text)
        metadata |= SecretNote(kinds=dict(screen.found), kept_hash=None if left == given else left).as_metadata()
    return Event(
        id=origin.make_id(int(now.timestamp() * 1000)),
        type=valid_unicode(new.type),
        user=origin.scope.user,
        session=origin.session,
        position=0,
        text=text,
        created_at=now if new.at is None else aware(new.at, origin.scope.zone, "at"),
        recorded_at=now,
        message_id=None if new.id is None else valid_unicode(new.id),
        sensitivity="sensitive" if screen.found and origin.secrets == "tag" else new.sensitivity,
        content_hash=given,
        outcome=outcome,
        task=valid_unicode(new.task) if new.task else None,
        raw={"content": kept} if kept else {},
        provenance=Provenance(
            source_kind="tool" if origin.source_kind == "user" else origin.source_kind,
            channel=origin.channel,
            session=origin.session,
            message_id=new.id,
            metadata=metadata,
        ),
    )


def same_event(stored: Event, new: Event) -> bool:
    """Whether a stored event is what `new` says: by type, outcome and text as given."""
    return stored.content_hash == new.content_hash
