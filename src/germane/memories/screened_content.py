"""Screened content: what is stored of a memory after the policy on secrets was applied to each of its fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from germane.memories.memory import Content, Fact
from germane.text.secrets.find import find_secrets
from germane.text.secrets.screen import SecretScreen
from germane.types.candidate import Provenance, Sensitivity
from germane.types.limits import TAG

__all__ = ["SECRET_TAG", "screened_attributes", "screened_content", "screened_provenance"]

SECRET_TAG = "secret"
"""The tag of a memory that is stored with its secret."""
_BODIES = ("value", "body")
"""The fields that stand under a key or a title."""


def screened_content(content: Content, given: Iterable[str], screen: SecretScreen) -> Content:
    """Returns the content with the policy applied to the fields named in `given`, each by itself and then all of them as one
    text. A fact's value stands under its key, a body under its title. Raises `InvalidInput` where the policy refuses it."""
    heading = content.key if isinstance(content, Fact) else getattr(content, "title", "")
    names = [field.name for field in fields(content) if field.name in set(given)]
    changed: dict[str, Any] = {}
    for screen.place in names:
        changed[screen.place] = screen.json(getattr(content, screen.place), heading if screen.place in _BODIES else "")
    content = replace(content, **changed)
    text = content.text
    for one in find_secrets(text) if heading and screen.policy != "off" else ():
        if not screen.knows(text[one.start : one.end]):
            screen.note(one.kind, text[one.start : one.end])
    if screen.policy != "redact" or not screen.found:
        return content
    return replace(content, **{name: screen.again(getattr(content, name)) for name in names})


def screened_provenance(provenance: Provenance, screen: SecretScreen) -> Provenance:
    """Returns the provenance with the policy applied to its references, its channel and its metadata. The names of a session,
    a message and a tool call identify something, and stay as they are."""
    screen.place = "provenance"
    refs = tuple(map(screen.text, provenance.refs))
    channel = provenance.channel and screen.text(provenance.channel)
    return replace(provenance, refs=refs, channel=channel, metadata=screen.json(provenance.metadata))


def screened_attributes(about: dict[str, Any], screen: SecretScreen, tags: Iterable[str]) -> dict[str, Any]:
    """Returns the attributes `about` of a memory, with the policy applied to its tags where they are given. One that is stored
    with its secret is `sensitive`, and has the tag `secret` beside `tags`."""
    if "tags" in about:
        screen.place = "tags"
        tags = sorted({screen.text(tag)[: TAG.maximum] for tag in tags})
        about = about | {"tags": tuple(tags)}
    if not screen.found or screen.policy == "redact":
        return about
    strict: Sensitivity = "sensitive"
    return about | {"sensitivity": strict, "tags": tuple(sorted({*tags, SECRET_TAG}))}
