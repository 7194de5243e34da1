"""Page: replaces the text between two marks of a document, so that a command can write its tables there."""

from __future__ import annotations

__all__ = ["BEGIN", "END", "replaced"]

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def replaced(page: str, text: str) -> str:
    """The page with `text` between its marks. Raises `ValueError` if a mark is missing or they are in the wrong order."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no {BEGIN} with {END} after it")
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"
