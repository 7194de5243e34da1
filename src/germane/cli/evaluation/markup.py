"""Markup: pieces of HTML that the pages are put together from. Whatever comes from data is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from germane.cli.evaluation.look import STYLE
from germane.cli.evaluation.saved import MARK
from germane.cli.screen import plain

__all__ = ["cell", "details", "document", "figure", "pairs", "rows", "text", "tiles"]


def text(given: str) -> str:
    """Shown as it is: no tags, nothing that hides or reorders."""
    return escape(plain(given))


def cell(value: str, beside: str = "", tone: str = "") -> str:
    """A figure, with something smaller beside it; `tone` is good, bad or nothing."""
    inner = f'<span class="{tone}">{text(value)}</span>' if tone else text(value)
    return f"{inner} <small>{text(beside)}</small>" if beside else inner


def rows(heads: Sequence[str], lines: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """A table. Heads are plain text, cells are markup; the columns at `words` hold words, the others figures."""
    kind = [' class="text"' if at in words else "" for at in range(len(heads))]
    head = "".join(f"<th{kind[at]}>{text(name)}</th>" for at, name in enumerate(heads))
    body = "".join("<tr>" + "".join(f"<td{kind[at]}>{one}</td>" for at, one in enumerate(line)) + "</tr>" for line in lines)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def pairs(listed: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{text(label)}</dt><dd>{text(told)}</dd>" for label, told in listed) + "</dl>"


def tiles(listed: Iterable[tuple[str, str]]) -> str:
    """Large figures, each with what it is."""
    return '<div class="tiles">' + "".join(f'<div class="tile"><b>{text(a)}</b>{text(b)}</div>' for a, b in listed) + "</div>"


def figure(drawn: str, caption: str, beside: str = "") -> str:
    small = f" <small>{text(beside)}</small>" if beside else ""
    return f"<figure>{drawn}<figcaption>{text(caption)}{small}</figcaption></figure>"


def details(summary: str, inner: str) -> str:
    return f"<details><summary>{text(summary)}</summary>{inner}</details>"


def document(title: str, body: str) -> str:
    """A whole page that needs nothing from anywhere."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{MARK}\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{text(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )
