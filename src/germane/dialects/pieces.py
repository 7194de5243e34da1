"""Pieces: joins the pieces of one message of the Messages API, which coding agents' transcripts and SDKs give block by block.

Each piece has the message's id. Tool results that stand between two pieces stand behind the joined message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from germane.dialects.envelope import mapping
from germane.types.message import Raw

__all__ = ["MessagePiece", "joined", "joined_messages"]


class MessagePiece(NamedTuple):
    """A message, or a piece of one, in the shape of the Messages API. `key` is the same for all pieces of a message, None for
    what is no piece; `where` is its place."""

    fields: Mapping[str, Any]
    key: tuple[str, str] | None = None
    where: Any = None


def joined(pieces: Iterable[MessagePiece]) -> Iterator[MessagePiece]:
    """Yields the messages in order, with the place of their first piece. Holds one message and the results behind it."""
    open: MessagePiece | None = None
    results = list[MessagePiece]()
    for piece in pieces:
        if open is not None and piece.key is not None and piece.key == open.key:
            _add(open.fields["content"], piece.fields["content"])
        elif open is not None and piece.key is None and _only_results(piece.fields):
            results.append(piece)
        else:
            if open is not None:
                yield open
            yield from results
            open, results = None, []
            if piece.key is None:
                yield piece
            else:
                open = piece._replace(fields={**piece.fields, "content": list(piece.fields["content"])})
    if open is not None:
        yield open
    yield from results


def joined_messages(raws: Iterable[Raw]) -> Iterator[Raw]:
    """Yields a caller's messages with the pieces joined; the same objects where they are no pieces. Takes each message once."""
    pieces = (MessagePiece(raw if type(raw) is dict else {}, _key(raw), raw) for raw in raws)
    yield from (piece.where if piece.key is None or _is_whole(piece) else piece.fields for piece in joined(pieces))


def _is_whole(piece: MessagePiece) -> bool:
    return len(piece.fields["content"]) == len(piece.where["content"])


def _key(raw: Raw) -> tuple[str, str] | None:
    if type(raw) is not dict or raw.get("type") != "message" or raw.get("role") != "assistant":
        return None
    id = raw.get("id")
    return ("", id) if isinstance(id, str) and id and isinstance(raw.get("content"), list) else None


def _add(before: list[Any], after: list[Any]) -> None:
    """Adds the blocks of a piece to those before. Of one that was given again, or that begins with all that came before, only
    what is new."""
    if len(after) >= len(before) and after[: len(before)] == before:
        before += after[len(before) :]
    elif before[-len(after) :] != after:
        before += after


def _only_results(fields: Mapping[str, Any]) -> bool:
    content = fields.get("content")
    if fields.get("role") == "tool":
        return True
    blocks = [mapping(block) or {} for block in content] if isinstance(content, list) else []
    return bool(blocks) and all(block.get("type") == "tool_result" for block in blocks)
