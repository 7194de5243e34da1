"""Expressions: no regular expression of the source takes more than linear time on any text."""

from __future__ import annotations

import ast

import pytest

from support.expressions import expressions, faults
from support.source_tree import modules

MADE_WHEN_IT_RUNS = {
    "text.demands:re.compile": "of the rules' files; each looks at no more than 120 characters from a word",
    "text.own_words.forms:re.compile": "of forms.toml: tests/text/own_words/test_forms.py checks each",
    "extraction.memories.plans:re.compile": "alternatives and optional words, no repeat in it; at most 80 characters",
    "extraction.memories.statements:re.compile": "of corrections.toml, states.toml; each looks at 160 characters at most",
    "extraction.memories.language:re.compile": "of files: tests/extraction/memories/test_extract.py checks each",
    "stages.write.escape:re.sub": "the nonce, escaped: twelve letters",
    "text.templates:re.compile": "held by the module, where the rule reads it",
    "stages.gather.source:re.sub": "at most 256 names, each escaped: no repeat in it",
    "service.redaction:re.compile": "held by the module",
    "stages.read.asks:re.compile": "held by the module",
    "stages.read.past_forms:re.compile": "endings of single words, each repeat bounded",
    "text.days.dates:re.compile": "held by the module",
    "text.terms:re.compile": "one character class; runs of two classes that have no character in common",
    "text.clauses:re.compile": "of cues.toml: words, each escaped, and no repeat",
}
"""Expressions that are only known at run time, with the reason why they take linear time."""

OLD_TEMPLATE_TOKENS = (
    r"<\|[^<>|\n]{1,64}\|>|<<[^\S\n]*/?[^\S\n]*sys[^\S\n]*>>|<[^\S\n]*/?[^\S\n]*(?:s|bos|eos)[^\S\n]*/?>"
    r"|\[[^\S\n]*/?[^\S\n]*(?:inst|sys)[^\S\n]*\]"
)
"""This expression took 6.7 seconds for 8,000 spaces after a bracket."""


NORMAL_FORMS = {"normalize", "is_normalized"}


@pytest.mark.requirement("LIMITS-2")
def test_no_expression_takes_more_than_linear_time() -> None:
    """No expression has nested or adjacent repeats, or restarts inside its own run."""
    found = {
        one.place: (wrong, one.pattern)
        for one in expressions()
        if (wrong := faults(one.pattern, one.flags, searched=one.searched))
    }
    assert found == {}


def test_what_is_put_together_when_it_runs_is_listed_with_a_reason() -> None:
    """The rule can't read these expressions, so a person has checked them."""
    assert {one.place for one in expressions() if one.pattern == "…"} == set(MADE_WHEN_IT_RUNS)


def test_the_rule_sees_the_expressions_that_there_are() -> None:
    """The rule also finds expressions in containers, and in tables that are built on first use."""
    places = {one.place for one in expressions()}
    assert len(places) > 150
    assert {"stages.write.compact._FORGED", "stages.write.excerpts._STEPS[0]", "text.language._SCRIPTS[2][1]"} <= places


@pytest.mark.parametrize(
    ("pattern", "wrong"),
    [
        (OLD_TEMPLATE_TOKENS, "adjacent"),
        (r"(a+)*b", "nested"),
        (r"(?:[\w.]+;)*x", "nested"),
        (r"\s*/?\s*x", "adjacent"),
        (r"a*(?:b*)a*c", "adjacent"),
        (r"\s+$", "restart"),
        (r"[.!;\n]\s*go", "restart"),
        (r"<[^>]*>", "restart"),
        (r"(?:x*y)?z", "restart"),
        (r"\S*\d\S*", "restart"),
        (r"\w++@", "restart"),
    ],
)
def test_the_rule_finds(pattern: str, wrong: str) -> None:
    """The rule finds each of the three forms, and the expression that led to it."""
    assert wrong in faults(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\[[^\[\]\n]*\]",
        r"(?<!\s)\s+$",
        r"\b\w+@",
        r"(?<!\s)\s*+/?+x",
        r"^\s*x",
        r'"[^"\n]{2,200}"',
        r"\w++(?:-\w++)*+",
        r"(?<=\w )[A-Z]\w*",
    ],
)
def test_the_rule_lets_pass_what_takes_linear_time(pattern: str) -> None:
    """The rule accepts possessive repeats, and repeats that can't restart inside their own run."""
    assert faults(pattern) == []


def test_an_anchored_use_can_not_begin_again() -> None:
    """`match` and `fullmatch` try a single position."""
    assert faults(r"\s*x", searched=False) == []


def test_only_one_module_makes_normal_forms() -> None:
    """`unicodedata.normalize` takes n² steps for n combining marks in a row; `germane.text.normal` limits the row first."""
    found = {
        module.name
        for module in modules()
        for node in module.nodes
        if (isinstance(node, ast.Attribute) and node.attr in NORMAL_FORMS)
        or (isinstance(node, ast.alias) and node.name in NORMAL_FORMS)
    }
    assert found == {"text.normal"}
