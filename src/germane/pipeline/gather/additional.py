"""Additional context: text that the caller gives with a request, as a required candidate of its own section (ENGINE-9)."""

from __future__ import annotations

from germane.text.normal import content_hash
from germane.types.candidate import Candidate
from germane.types.request import Request

__all__ = ["CUSTOM", "additional"]

CUSTOM = frozenset({"custom"})
"""The source of what the caller gave, which isn't the store's to judge."""
_ID = "additional"


def additional(request: Request) -> tuple[Candidate, ...]:
    """The candidate of `request.additional_context`; nothing where that is blank. It is public, as the caller gave it, and
    counts in the budget like everything that germane adds."""
    text = request.additional_context
    if not text.strip():
        return ()
    hashed = content_hash("additional", text)
    return (
        Candidate(
            id=_ID,
            source="custom",
            category="additional",
            text=text,
            created_at=request.at,
            sensitivity="public",
            required=True,
            content_hash=hashed,
        ),
    )
