"""FoundSecret: the kind of a secret and its place in a text, without the secret itself."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FoundSecret"]


class FoundSecret(NamedTuple):
    """`kind` is a name for people, such as `AWS access key`; the secret is `text[start:end]`."""

    kind: str
    start: int
    end: int
