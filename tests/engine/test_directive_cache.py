"""The last known directives, the agent's and the users' own, for when the store can't be asked in time."""

from __future__ import annotations

import pytest

from germane.engine.fallback import DirectiveCache
from germane.kinds.memories.directive import Directive
from germane.stages.gather.gather import Gathered
from germane.types.query import Query
from germane.types.scope import Scope
from germane.types.trace import SourceReport
from germane_testing.builders import MOMENT

AGENT, ANN, BO = Scope(), Scope(user="ann"), Scope(user="bo")


def found(directive: Directive | None, *, asked: bool = True) -> Gathered:
    reports = (SourceReport(name="directive", status="ok" if directive is not None else "timeout"),) if asked else ()
    return Gathered(query=Query(text="", at=MOMENT), directive=directive, candidates=(), reports=reports)


def knowing(scope: Scope = ANN, agent: str = "Be brief.", own: str = "", **options: int) -> DirectiveCache:
    cache = DirectiveCache(**options)
    cache.learn(scope, Directive(agent, own))
    return cache


@pytest.mark.requirement("ENGINE-4")
def test_the_last_known_directive_stands_in_for_a_missing_one() -> None:
    """Of any session of the same agent and user."""
    cache = DirectiveCache()
    assert cache.fill_missing(ANN, found(None), 0).directive is None
    cache.fill_missing(ANN, found(Directive("Be brief.", "Be kind.")), 0)
    filled = cache.fill_missing(ANN.within("s2"), found(None), 0).directive
    assert filled is not None
    assert filled.text == "Be kind."


@pytest.mark.requirement("ENGINE-11")
def test_what_one_user_was_told_of_the_agent_is_known_for_all() -> None:
    """A user's own directive goes before it, and is nobody else's."""
    cache = knowing(ANN, own="Be kind.")
    assert [cache.last(scope) for scope in (ANN, BO, AGENT)] == ["Be kind.", "Be brief.", "Be brief."]
    assert [cache.knows(scope) for scope in (ANN, BO, AGENT)] == [True, False, True]


@pytest.mark.requirement("ENGINE-11")
def test_what_is_read_at_opening_is_known_and_the_first_ones_are_kept() -> None:
    cache = DirectiveCache(max_entries=2)
    cache.load([("default", "default", None, "Be brief."), *(("default", "default", user, user) for user in "abc")], 0)
    assert [cache.last(Scope(user=user)) for user in "abc"] == ["a", "b", "Be brief."]


@pytest.mark.requirement("ENGINE-11", "MEM-3")
def test_a_directive_that_another_process_changed_is_corrected() -> None:
    """Whoever has none of their own isn't asked about; what is no more doesn't come back."""
    cache, asked = knowing(ANN, own="Be kind."), list[str | None]()
    cache.learn(BO, Directive("Be brief.", ""))
    present = {None: "Be long.", "ann": ""}

    def now(org: str, agent: str, user: str | None) -> str:
        asked.append(user)
        return present[user]

    cache.revise(now)
    assert [cache.last(scope) for scope in (ANN, BO, AGENT)] == ["Be long."] * 3
    assert asked == [None, "ann"]


@pytest.mark.requirement("ENGINE-11", "MEM-3")
@pytest.mark.parametrize("change", ["forget", "replace", "revise"])
def test_what_was_read_before_a_change_is_not_learned_after_it(change: str) -> None:
    """An answer on its way, or the read at opening, would bring back what is gone."""
    cache = knowing()
    since = cache.changes
    {"forget": lambda: cache.forget(ANN), "replace": lambda: cache.replace(AGENT), "revise": lambda: cache.revise(_nothing)}[
        change
    ]()
    cache.learn(ANN, Directive("Be brief.", "Old."), since)
    cache.load([("default", "default", "ann", "Old.")], since)
    cache.fill_missing(ANN, found(Directive("Be brief.", "Old.")), since)
    assert not cache.last(ANN)


@pytest.mark.requirement("ENGINE-11")
@pytest.mark.parametrize("changes", [0, 1, 5, 100])
async def test_a_directive_is_read_again_where_another_one_changed_meanwhile(changes: int) -> None:
    """Else it would stay unknown until the next answer. Where the changes don't end, it isn't learned."""
    cache, reads = DirectiveCache(), list[None]()

    async def read() -> Directive:
        if len(reads) < changes:
            cache.revise(_nothing)
        reads.append(None)
        return Directive("", "Be kind.")

    assert (await cache.read(ANN, read)).text == "Be kind."
    assert len(reads) == min(16, changes + 1)
    assert cache.last(ANN) == ("Be kind." if changes < 16 else None)


def _nothing(*_: object) -> str:
    return ""


@pytest.mark.requirement("ENGINE-4")
def test_a_directive_that_was_taken_away_stays_away() -> None:
    """Empty is known, None isn't."""
    cache = knowing()
    cache.fill_missing(ANN, found(Directive()), 0)
    assert cache.fill_missing(ANN, found(None), 0).directive == Directive()


@pytest.mark.requirement("ENGINE-4")
def test_a_strategy_that_asks_for_no_directive_unlearns_none() -> None:
    cache = knowing()
    assert cache.fill_missing(ANN, found(Directive(), asked=False), 0).directive == Directive()
    assert cache.last(ANN) == "Be brief."


@pytest.mark.requirement("ENGINE-4", "SCOPE-1")
def test_agents_and_orgs_share_nothing() -> None:
    cache = knowing(own="Ann's.")
    assert [cache.last(scope) for scope in (Scope(org="other", user="ann"), Scope(agent="other", user="ann"))] == [None, None]


@pytest.mark.requirement("ENGINE-11")
def test_only_what_was_set_anew_is_dropped() -> None:
    cache = knowing(own="Be kind.")
    cache.replace(ANN)
    assert cache.last(ANN) == "Be brief."
    cache.learn(ANN, Directive("Be brief.", "Be kinder."))
    cache.replace(AGENT)
    assert [cache.last(scope) for scope in (ANN, BO)] == ["Be kinder.", None]


@pytest.mark.requirement("ENGINE-4", "MEM-3")
def test_forgetting_for_a_user_leaves_what_is_known_of_the_others() -> None:
    """The user's own directive may be gone, and may as well stand: none is known then, and not the agent's."""
    cache = knowing(own="Be kind.")
    cache.forget(ANN)
    assert [cache.last(scope) for scope in (ANN, BO, AGENT)] == [None, "Be brief.", "Be brief."]
    assert not cache.knows(ANN)
    cache.learn(ANN, Directive("Be brief."))
    assert cache.last(ANN) == "Be brief."


def test_forgetting_for_an_agent_drops_the_directives_of_all_its_users() -> None:
    cache = knowing(own="Be kind.")
    cache.learn(Scope(agent="other"), Directive("Be brief."))
    cache.forget(AGENT)
    assert [cache.last(scope) for scope in (ANN, BO, AGENT, Scope(agent="other"))] == [None, None, None, "Be brief."]


def test_it_is_bounded_and_the_longest_unheard_of_goes_first() -> None:
    cache = DirectiveCache(max_entries=2)
    for user in ("ann", "bo", "ann", "cy"):
        cache.learn(Scope(user=user), Directive("Be brief.", user))
    assert [cache.last(Scope(user=user)) for user in ("ann", "bo", "cy")] == ["ann", "Be brief.", "cy"]
