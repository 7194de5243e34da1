"""Thinking prefix: whether germane's text stands before each block of thinking as it stood when the block was made (INJECT-10).

A provider that binds thinking refuses a block where anything before it has changed. Each record of a turn holds a hash of all
of germane's text up to that turn, as it was sent. So any change is known, whatever caused it, also in another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

from germane.dialects.opaque import prefix_bound
from germane.pipeline.inject.turns import HumanTurn
from germane.types.message import Message, Opaque

__all__ = ["changed_turns", "prefixes", "thinking_turns"]


def prefixes(turns: Sequence[HumanTurn], stable: str, texts: Mapping[int, str], key: bytes) -> dict[int, str]:
    """Returns by each turn's index a hash of the text that stands first and of the `texts` up to there, by their turns'
    index."""
    digest, found = blake2b(_framed(stable), digest_size=16, key=key[:64]), dict[int, str]()
    for turn in turns:
        if text := texts.get(turn.index, ""):
            digest.update(turn.chain.encode() + _framed(text))
        found[turn.index] = digest.copy().hexdigest()
    return found


def thinking_turns(messages: Sequence[Message], turns: Sequence[HumanTurn]) -> Iterator[int]:
    """Yields the index of each turn in whose answer there is thinking."""
    ends = [*(turn.index for turn in turns[1:]), len(messages)]
    for turn, end in zip(turns, ends, strict=False):
        if any(
            isinstance(part, Opaque) and prefix_bound(part) for message in messages[turn.index : end] for part in message.parts
        ):
            yield turn.index


def changed_turns(
    messages: Sequence[Message], turns: Sequence[HumanTurn], sent: Mapping[int, str], recorded: Mapping[int, str]
) -> list[int]:
    """Returns the turns whose answers hold thinking that was made behind other text of germane's than is `sent` now. `recorded`
    are the hashes of their records: a turn without one is among them, as nobody knows what stood there."""
    return [index for index in thinking_turns(messages, turns) if recorded.get(index, "") != sent[index]]


def _framed(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return len(raw).to_bytes(8, "big") + raw
