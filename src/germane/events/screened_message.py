"""Screened message: a prepared message as it is stored: with the policy on secrets applied, and without germane's own text.

The content hash stays that of the message as sent, so that a message that is sent again, or stands in a request, is recognised
without looking for either in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from germane.events.prepared_message import PreparedMessage
from germane.events.secret_note import SecretNote
from germane.text.injected import without_injected
from germane.text.normal import content_hash
from germane.text.secrets.find import find_secrets
from germane.text.secrets.screen import SecretPolicy, SecretScreen

__all__ = ["counted_secrets", "screened"]


def screened(message: PreparedMessage, policy: SecretPolicy, breath: Callable[[], None] = lambda: None) -> PreparedMessage:
    """Returns the message as it is to be stored: its text, its name and the caller's dict. Raises `InvalidInput`, which names
    the kind of secret and the message's place, where the policy refuses it."""
    quick = not message.raw and without_injected(message.text) is message.text
    if quick and (policy == "off" or not (find_secrets(message.text, breath) or find_secrets(message.name))):
        return message  # as nearly every message
    screen = SecretScreen(policy, "a message" if message.index is None else f"messages[{message.index}]", breath)
    text, name = screen.text(message.text), screen.text(message.name)
    raw = screen.again(message.raw) if message.raw else message.raw
    if not screen.found and not screen.left_out:
        return message
    note = SecretNote(kinds=dict(screen.found))
    if screen.left_out or policy == "redact":
        size = len(message.text.encode("utf-8", "surrogatepass"))
        note = replace(note, given_bytes=size, kept_hash=content_hash(message.role, text))
    sensitive = bool(screen.found) and policy != "redact"
    return replace(message, text=text, name=name, raw=raw, secrets=note, sensitive=sensitive)


def counted_secrets(messages: Iterable[PreparedMessage]) -> dict[str, int]:
    """Returns how many secrets of which kind were found in the messages."""
    total: Counter[str] = Counter()
    for message in messages:
        if message.secrets is not None:
            total.update(message.secrets.kinds)
    return dict(total)
