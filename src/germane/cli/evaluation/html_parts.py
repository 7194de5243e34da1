"""HTML parts: the elements that the pages consist of. Text from data is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from germane.cli.evaluation.page_style import STYLE
from germane.cli.evaluation.result_files import MARK
from germane.cli.screen import plain

__all__ = ["cell", "details", "document", "figure", "pairs", "rows", "text", "tiles"]


def text(given: str) -> str:
    """Returns `given` escaped: no tags, no characters that hide or reorder text."""
    return escape(plain(given))


def cell(value: str, beside: str = "", tone: str = "") -> str:
    """A figure, with smaller text beside it; `tone` is `good`, `bad` or empty."""
    inner = f'<span class="{tone}">{text(value)}</span>' if tone else text(value)
    return f"{inner} <small>{text(beside)}</small>" if beside else inner


def rows(heads: Sequence[str], lines: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """A table. `heads` are plain text, cells are HTML; the columns with an index in `words` hold words, the others figures."""
    kind = [' class="text"' if index in words else "" for index in range(len(heads))]
    head = "".join(f"<th{kind[index]}>{text(name)}</th>" for index, name in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(f"<td{kind[index]}>{content}</td>" for index, content in enumerate(line)) + "</tr>" for line in lines
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def pairs(listed: Iterable[tuple[str, str]]) -> str:
    """A list of labels, each with its text."""
    return "<dl>" + "".join(f"<dt>{text(label)}</dt><dd>{text(value)}</dd>" for label, value in listed) + "</dl>"


def tiles(listed: Iterable[tuple[str, str]]) -> str:
    """Large figures, each with its label."""
    return '<div class="tiles">' + "".join(f'<div class="tile"><b>{text(a)}</b>{text(b)}</div>' for a, b in listed) + "</div>"


def figure(drawn: str, caption: str, beside: str = "") -> str:
    """A drawing (HTML) with a caption, and smaller text beside the caption."""
    small = f" <small>{text(beside)}</small>" if beside else ""
    return f"<figure>{drawn}<figcaption>{text(caption)}{small}</figcaption></figure>"


def details(summary: str, inner: str) -> str:
    """A section that the reader can open; `inner` is HTML."""
    return f"<details><summary>{text(summary)}</summary>{inner}</details>"


def document(title: str, body: str) -> str:
    """A whole page that loads no other file."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{MARK}\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{text(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )
