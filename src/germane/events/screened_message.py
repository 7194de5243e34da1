"""Screened message: a prepared message after the policy on secrets was applied to all that is stored of it.

The content hash stays that of the message as sent, so that a message that is sent again, or stands in a request, is recognised
without looking for secrets in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from germane.events.prepared_message import PreparedMessage
from germane.events.secret_note import SecretNote
from germane.text.normal import content_hash
from germane.text.secrets.find import find_secrets
from germane.text.secrets.screen import SecretPolicy, SecretScreen

__all__ = ["counted_secrets", "screened"]


def screened(message: PreparedMessage, policy: SecretPolicy, breath: Callable[[], None] = lambda: None) -> PreparedMessage:
    """Returns the message as it is to be stored: its text, its name and the caller's dict. Raises `InvalidInput`, which names
    the kind of secret and the message's place, where the policy refuses it."""
    if policy == "off" or not (message.raw or find_secrets(message.text, breath) or find_secrets(message.name)):
        return message  # as nearly every message
    screen = SecretScreen(policy, "a message" if message.index is None else f"messages[{message.index}]", breath)
    text, name = screen.text(message.text), screen.text(message.name)
    raw = screen.again(message.raw) if message.raw else message.raw
    if not screen.found:
        return message
    if policy != "redact":
        return replace(message, sensitive=True, secrets=SecretNote(kinds=dict(screen.found)))
    size = len(message.text.encode("utf-8", "surrogatepass"))
    note = SecretNote(kinds=dict(screen.found), given_bytes=size, kept_hash=content_hash(message.role, text))
    return replace(message, text=text, name=name, raw=raw, secrets=note)


def counted_secrets(messages: Iterable[PreparedMessage]) -> dict[str, int]:
    """Returns how many secrets of which kind were found in the messages."""
    total: Counter[str] = Counter()
    for message in messages:
        if message.secrets is not None:
            total.update(message.secrets.kinds)
    return dict(total)
