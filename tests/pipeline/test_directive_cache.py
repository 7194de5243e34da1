"""The last known directive, for when the store can't be asked in time."""

from __future__ import annotations

import pytest

from germane.pipeline.directive_cache import DirectiveCache
from germane.pipeline.gather.gather import Gathered
from germane.testing.builders import MOMENT
from germane.types.query import Query
from germane.types.scope import Scope
from germane.types.trace import SourceReport

ANN, BO = Scope(user="ann"), Scope(user="bo")


def found(directive: str | None, *, asked: bool = True) -> Gathered:
    reports = (SourceReport(name="directive", status="ok" if directive is not None else "timeout"),) if asked else ()
    return Gathered(query=Query(text="", at=MOMENT), directive=directive, candidates=(), reports=reports)


@pytest.mark.requirement("ENGINE-4")
def test_the_last_known_directive_stands_in_for_a_missing_one() -> None:
    """Of any session of the same agent and user."""
    directive_cache = DirectiveCache()
    assert directive_cache.fill_missing(ANN, found(None)).directive is None
    assert directive_cache.fill_missing(ANN, found("Be brief.")).directive == "Be brief."
    assert directive_cache.fill_missing(ANN.within("s2"), found(None)).directive == "Be brief."


@pytest.mark.requirement("ENGINE-4", "MEM-3")
def test_only_what_is_so_no_more_is_forgotten_when_some_process_took_something_away() -> None:
    """Everybody else's stays, and what nobody set needn't be asked about."""
    directive_cache, asked = DirectiveCache(), list[str | None]()
    for user, directive in (("ann", "Be brief."), ("bo", "Be kind."), ("cy", "")):
        directive_cache.learn(Scope(user=user), directive)

    def now(org: str, agent: str, user: str | None) -> str:
        asked.append(user)
        return "" if user == "ann" else "Be kind."

    directive_cache.revise(now)
    assert [directive_cache.last(Scope(user=user)) for user in ("ann", "bo", "cy")] == [None, "Be kind.", ""]
    assert asked == ["ann", "bo"]


@pytest.mark.requirement("ENGINE-4")
def test_a_directive_that_was_taken_away_stays_away() -> None:
    """Empty is known, None isn't."""
    directive_cache = DirectiveCache()
    directive_cache.learn(ANN, "Be brief.")
    directive_cache.fill_missing(ANN, found(""))
    assert directive_cache.fill_missing(ANN, found(None)).directive == ""


@pytest.mark.requirement("ENGINE-4")
def test_a_strategy_that_asks_for_no_directive_unlearns_none() -> None:
    directive_cache = DirectiveCache()
    directive_cache.learn(ANN, "Be brief.")
    assert directive_cache.fill_missing(ANN, found("", asked=False)).directive == ""
    assert directive_cache.last(ANN) == "Be brief."


@pytest.mark.requirement("ENGINE-4", "SCOPE-1")
def test_scopes_share_nothing() -> None:
    directive_cache = DirectiveCache()
    directive_cache.learn(ANN, "Ann's.")
    others = (BO, Scope(), Scope(org="other", user="ann"), Scope(agent="other", user="ann"))
    assert [directive_cache.last(scope) for scope in others] == [None] * 4


def test_what_has_been_changed_is_forgotten_for_every_user_of_the_agent() -> None:
    """A user without a directive of their own has the agent's."""
    directive_cache = DirectiveCache()
    for scope in (ANN, BO, Scope(), Scope(agent="other")):
        directive_cache.learn(scope, "Be brief.")
    directive_cache.forget(ANN)
    assert [directive_cache.last(scope) for scope in (ANN, BO, Scope(), Scope(agent="other"))] == [
        None,
        None,
        None,
        "Be brief.",
    ]


def test_it_is_bounded_and_the_longest_unheard_of_goes_first() -> None:
    directive_cache = DirectiveCache(max_entries=2)
    for scope in (ANN, BO, ANN, Scope()):
        directive_cache.learn(scope, "Be brief.")
    assert [directive_cache.last(scope) for scope in (ANN, BO, Scope())] == ["Be brief.", None, "Be brief."]
