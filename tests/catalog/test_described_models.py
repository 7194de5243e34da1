"""Models that the caller describes: `like=` and `window=`, in a call and in the settings."""

from __future__ import annotations

import pytest

from germane.catalog.profiles import Catalog
from germane.errors import InvalidInput

CATALOG = Catalog.built_in()


@pytest.mark.requirement("BUD-1a")
def test_a_deployment_has_the_profile_of_the_model_that_it_is_like() -> None:
    """Also where its own name would say something else: the caller knows better."""
    for name in ("my-deployment", "gpt-4", "claude"):
        assert CATALOG.find(name, like="azure/gpt-4.1-2025-04-14") is CATALOG.find("gpt-4.1")


@pytest.mark.requirement("BUD-1a")
def test_a_window_replaces_the_one_of_the_profile() -> None:
    """Everything else stays; a model whose window is given isn't unknown any more."""
    own, listed = CATALOG.find("gpt-4o", window=32_000), CATALOG.find("gpt-4o")
    assert (own.window, own.tokenizer, own.safety) == (32_000, listed.tokenizer, listed.safety)
    mine = CATALOG.find("my-deployment", window=32_000)
    assert (mine.window, mine.known, mine.safety, mine.tokenizer) == (32_000, True, 0.10, "unknown")
    both = CATALOG.find("my-deployment", like="claude-sonnet-4-5", window=500_000)
    assert (both.window, both.provider) == (500_000, "anthropic")


@pytest.mark.requirement("BUD-1a")
@pytest.mark.parametrize(
    ("like", "hint"),
    [("gtp-4.1", "did you mean gpt-4"), ("clode-sonet-4.5", "claude-sonnet-4-5"), ("frobnicate", "such as gpt-4o")],
)
def test_a_like_that_nobody_listed_is_refused_with_what_is_near(like: str, hint: str) -> None:
    """In a call, and in the settings with the name of the table."""
    with pytest.raises(InvalidInput, match=f"like must name a model of the catalog, not '{like}': .*{hint}"):
        CATALOG.find("mine", like=like)
    with pytest.raises(InvalidInput, match=f"model 'mine': like must name .*{hint}"):
        CATALOG.with_models({"mine": {"like": like}})


@pytest.mark.requirement("BUD-1a")
def test_a_model_of_the_settings_may_be_like_an_earlier_one_and_named_by_a_call() -> None:
    """Tables are read in their order."""
    mine = CATALOG.with_models({"house": {"like": "gpt-4o", "window": 32_000}, "house-mini": {"like": "house"}})
    assert (mine.find("house-mini").window, mine.find("house-mini").name) == (32_000, "house-mini")
    assert mine.find("other", like="house").window == 32_000


@pytest.mark.parametrize("like", ["x" * 10_000, "gpt-" * 64, "\ud800", "", "/", "日本語"])
def test_looking_for_near_names_is_quick_and_never_fails(like: str) -> None:
    """Only the beginning of a name is compared."""
    with pytest.raises(InvalidInput, match="like must name"):
        CATALOG.find("mine", like=like)
