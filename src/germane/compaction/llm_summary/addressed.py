"""Addressed: tells an answer that speaks to somebody, or has structure of its own, from a summary, which only reports."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from germane.text.normal import fold
from germane.text.templates import neutralise

__all__ = ["addresses"]

_HEAD = 160
"""Characters at the beginning in which a refusal is looked for."""
_SPACES = re.compile(r"\s+")
_HEADING = re.compile(r"^[^\S\n]{0,8}(?:#{1,6}[^\S\n]|={4,}|-{4,}|\*{4,})", re.MULTILINE)
"""Headings of Markdown, and lines that set sections apart."""
_TAG = re.compile(
    r"<[^\S\n]{0,4}[/!?]?[^\S\n]{0,4}(?:antml|assistant|block|context|conversation|directive|document|end|example|function|human"
    r"|important|input|instruction|invoke|memor|message|notice|output|parameter|prompt|reminder|result|rule|summary|system|think"
    r"|tool|user)[\w:.-]{0,40}(?:[\s/][^<>\n]{0,200})?>|^[^\S\n]{0,8}</?[A-Za-z][^<>\n]{0,200}>",
    re.IGNORECASE | re.MULTILINE,
)
"""Tags that structure prompts, and any tag that begins a line."""
_CALL = re.compile(
    r"[\"'](?:tool_calls?|function_call|tool_use|tool_call_id|tool_use_id|arguments|parameters|input|recipient_name)[\"']\s{0,4}:"
    r"|[\"'](?:role|type)[\"']\s{0,4}:\s{0,4}[\"'](?:system|developer|user|assistant|tool|function|tool_use|tool_result)[\"']"
    r"|```[^\S\n]{0,4}tool|\bto=functions\.",
    re.IGNORECASE,
)
"""Calls of tools and messages, as models and APIs write them."""


def addresses(text: str) -> str:
    """Returns what shows that `text` isn't a report: `a refusal`, `instructions`, `a role label or template token`, `a
    heading`, `a tag`, `a tool call`; '' where nothing does. Words that instruct count wherever they stand, also where they are
    quoted."""
    folded = _SPACES.sub(" ", fold(text))
    refusals, orders = _phrases()
    head = folded[:_HEAD].lstrip(" *_#>-\"'")
    if head.startswith(refusals):
        return "a refusal"
    if any(order in folded for order in orders):
        return "instructions"
    if neutralise(text) != text:
        return "a role label or template token"
    for what, expression in (("a heading", _HEADING), ("a tag", _TAG), ("a tool call", _CALL)):
        if expression.search(text):
            return what
    return ""


@cache
def _phrases() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The refusals and the orders of all languages, folded."""
    tables = tomllib.loads(
        files("germane.compaction.llm_summary").joinpath("phrases.toml").read_text(encoding="utf-8")
    ).values()
    return (
        tuple(fold(phrase) for table in tables for phrase in table["refusals"]),
        tuple(fold(phrase) for table in tables for phrase in table["orders"]),
    )
