"""Requests come back as they came, for every provider (INJECT-1, INJECT-11)."""

from __future__ import annotations

from random import Random

import pytest
from bench.unchanged import differences

from support.provider_requests import PROVIDERS, made_request

pytestmark = pytest.mark.requirement("INJECT-11")


@pytest.mark.requirement("INJECT-1")
def test_requests_of_all_providers_come_back_to_the_byte() -> None:
    """Also parts that nobody knows; and the validators take what the providers take."""
    assert differences(160, seed=7) == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_number_makes_the_same_request_again(provider: str) -> None:
    """So that a difference can be looked at."""
    assert made_request(provider, Random(5)) == made_request(provider, Random(5))
