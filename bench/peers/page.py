"""Page: a text between two marks of a document, so that tables are written by the command that measured them."""

from __future__ import annotations

__all__ = ["BEGIN", "END", "replaced"]

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def replaced(page: str, text: str) -> str:
    """The page with `text` between its marks. Raises `ValueError` when it hasn't both, in that order."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no {BEGIN} with {END} after it")
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"
