"""SecretScreen: what is stored of the texts of one message or memory: secrets by a policy, and nothing that germane injected.

All text that callers want stored passes here, so the text of germane's own is left out here, whatever the policy (INJECT-5).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from germane.errors import InvalidInput
from germane.text.injected import without_injected
from germane.text.secrets.find import find_secrets
from germane.text.secrets.found import FoundSecret
from germane.text.secrets.named import named_kind
from germane.text.secrets.redact import marker, redacted

__all__ = ["POLICIES", "SecretPolicy", "SecretScreen", "refuse_in_name", "refuse_joined", "secret_in_name", "secret_policy"]

SecretPolicy = Literal["redact", "tag", "refuse", "off"]
"""What happens to a secret in what a caller wants stored: a marker takes its place, it is kept and marked as sensitive, the
call is refused, or nobody looks."""
POLICIES: tuple[SecretPolicy, ...] = get_args(SecretPolicy)
_CARD = "card number"
"""What a name of digits can be by chance."""
_LIST_MARK = re.compile(r"\n(?:-|\d{1,6}\.) (?:\[[ x]\] )?")
"""The mark of an item of a list."""
_MIN_REPEATED = 6
"""Characters of a secret that is also replaced where only its repetition tells that it is one."""
_MAX_REPEATED = 64
"""How many different secrets are looked for again."""


class SecretScreen:
    """`found` counts the secrets by kind, `left_out` says whether germane's own text was left out. `place` says in a refusal
    where the text stands; the refusal never quotes it."""

    def __init__(self, policy: SecretPolicy, place: str, breath: Callable[[], None] = lambda: None) -> None:
        self.policy, self.place, self._breath = policy, place, breath
        self._known: dict[str, str] = {}
        self.found: Counter[str] = Counter()
        self.left_out = False

    def text(self, value: str, name: str = "") -> str:
        """Returns `value` as it is to be stored; `name` is what it stands under. Raises `InvalidInput` where the policy refuses
        it."""
        given, value = value, without_injected(value)
        self.left_out = self.left_out or value is not given
        if self.policy == "off":
            return value
        found = find_secrets(value, self._breath)
        if name and not found and (kind := named_kind(name, value)) is not None:
            found = (FoundSecret(kind, 0, len(value)),)
        for one in found:
            self.note(one.kind, value[one.start : one.end])
        return redacted(value, found) if self.policy == "redact" else value

    def json(self, value: Any, name: str = "") -> Any:
        """The same for JSON of any depth, whose strings stand under their keys. What is no JSON stays as it is."""
        if isinstance(value, str):
            return self.text(value, name)
        if isinstance(value, Mapping):
            named = ((key, item, isinstance(key, str)) for key, item in value.items())
            return {self.text(key) if text else key: self.json(item, key if text else "") for key, item, text in named}
        if isinstance(value, list | tuple):
            return [self.json(item, name) for item in value]
        return value

    def again(self, value: Any) -> Any:
        """Returns JSON that repeats what was screened before: what was found there is replaced here too, and only what wasn't
        is counted."""
        known, counted = dict(self._known), Counter(self.found)
        value = self.json(value)
        if counted:
            self.found = counted
        return _replaced(value, known) if known and self.policy == "redact" else value

    def note(self, kind: str, secret: str) -> None:
        """Counts a secret. Raises `InvalidInput` where the policy refuses it."""
        if self.policy == "refuse":
            raise InvalidInput(
                f"{self.place} holds a secret ({kind}): leave it out, or let germane redact it (secrets = 'redact')"
            )
        self.found[kind] += 1
        if len(self._known) < _MAX_REPEATED:
            self._known[secret] = kind

    def knows(self, secret: str) -> bool:
        """Whether this secret was counted before."""
        return secret in self._known


def refuse_in_name(policy: SecretPolicy, what: str, name: str) -> str:
    """Returns a name by which something is found again. Raises `InvalidInput` where it holds a secret that must not be stored:
    a marker in its place would be another name."""
    kind = secret_in_name(name) if policy in ("redact", "refuse") else None
    if kind is not None:
        raise InvalidInput(f"{what} holds a secret ({kind}), and a name is stored as it is: choose another name")
    return name


def secret_in_name(name: str) -> str | None:
    """Returns the kind of secret that a name holds; None where it holds none. Digits alone are no secret in a name."""
    return next((one.kind for one in find_secrets(name) if one.kind != _CARD), None)


def refuse_joined(policy: SecretPolicy, what: str, before: str, after: str) -> None:
    """Raises `InvalidInput` where a text that was changed holds a secret that must not be stored and wasn't in it `before`:
    one that was written in pieces, each of which looks harmless, items of a list too."""
    if policy not in ("redact", "refuse"):
        return
    joined = _LIST_MARK.sub(" ", after)
    known = {before[one.start : one.end] for one in find_secrets(before)}
    for text in (after,) if joined == after else (after, joined):
        for one in find_secrets(text):
            secret = text[one.start : one.end]
            if secret not in known and secret not in before:
                raise InvalidInput(f"the change makes a secret ({one.kind}) of pieces that {what} holds: leave it out")


def secret_policy(value: object) -> SecretPolicy:
    """Returns a policy by its name. Raises `InvalidInput`."""
    for policy in POLICIES:
        if value == policy:
            return policy
    given = repr(value[:40]) if isinstance(value, str) else type(value).__name__
    raise InvalidInput(f"secrets must be one of {', '.join(POLICIES)}, not {given}")


def _replaced(value: Any, known: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for secret in sorted(known, key=len, reverse=True):
            if len(secret) >= _MIN_REPEATED:
                value = value.replace(secret, marker(known[secret]))
        return value
    if isinstance(value, Mapping):
        return {key: _replaced(item, known) for key, item in value.items()}
    return [_replaced(item, known) for item in value] if isinstance(value, list) else value
