"""Directive: the standing instructions of an agent and of one of its users, and the plan that sets them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from germane.kinds.memories.fields import words
from germane.text.secrets.detection import SecretPolicy, SecretScreen
from germane.types.plan import Change, Decision, Plan, Read, StoreRead, TextOf

_LOG = logging.getLogger("germane.secrets")


class Directive(NamedTuple):
    """What a scope's directive is made of; '' where there is none. A user's own one replaces the agent's."""

    agent: str = ""
    """The agent-wide text, which holds for every user without an own one."""
    own: str = ""
    """The text of the scope's user."""

    @property
    def text(self) -> str:
        """The text that is written into the prompt."""
        return self.own or self.agent


@dataclass(frozen=True, slots=True)
class CurrentDirective(Read[Directive]):
    """The standing instructions, the agent's and those of the scope's user."""

    quick: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ListDirectives(StoreRead[Sequence[tuple[str, str, str | None, str]]]):
    """At most `limit` directives, each with its org, agent and user (None: the agent's): the agents' first."""

    limit: int


@dataclass(frozen=True, slots=True)
class SetDirective(Change):
    """Sets the standing instructions of the scope's agent, or of its user with that agent; an empty text removes them."""

    text_of: ClassVar[TextOf] = "somebody"
    text: str
    id: str = ""
    """The id that an export gives it; '' for a directive that somebody sets now."""


def set_directive(text: str, secrets: SecretPolicy = "redact") -> Plan[str]:
    """Replaces the directive; a blank `text` removes it. The outcome is the new directive, '' for none. The policy on
    `secrets` is applied as to every text; the log gets a warning where one was found, as the directive goes into every context.
    Raises `InvalidInput`."""
    yield from ()
    text = words("directive", text, empty=True)
    text = text if text.strip() else ""
    screen = SecretScreen(secrets, "the directive")
    text = screen.text(text)
    if screen.found:
        kinds = ", ".join(sorted(screen.found))
        stored = "a marker is stored in its place" if secrets == "redact" else "which goes into every context"
        _LOG.warning("the directive holds a secret (%s), %s: take it out", kinds, stored)
    return Decision((SetDirective(text),), text)
