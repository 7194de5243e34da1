"""Permission: what each permission allows."""

from __future__ import annotations

from typing import get_args

import pytest

from germane.errors import UnknownName
from germane.kinds.blocks.mutation import MUTATIONS, OPERATIONS
from germane.kinds.blocks.permission import (
    PERMISSIONS,
    SHOWN_PERMISSIONS,
    Needs,
    Permission,
    at_most,
    checked_permission,
    decide,
    effective_permission,
)

TABLE: dict[Permission, str] = {
    "read_only": "refused refused refused",
    "partner": "consent_needed consent_needed consent_needed",
    "human": "consent_needed consent_needed consent_needed",
    "append": "allowed refused refused",
    "read_write": "allowed allowed refused",
    "admin": "allowed allowed allowed",
}
"""What happens to an operation that needs append, overwrite and delete."""


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_each_permission_allows_what_the_table_says(permission: Permission) -> None:
    """Append: Append and up; overwrite: ReadWrite and up; delete: Admin."""
    assert " ".join(decide(permission, needs).outcome for needs in get_args(Needs)) == TABLE[permission]


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_consent_opens_partner_and_human_only(permission: Permission) -> None:
    """Elsewhere it changes nothing."""
    asks = permission in ("partner", "human")
    for needs in get_args(Needs):
        verdict, plain = decide(permission, needs, consent=True), decide(permission, needs)
        assert verdict.outcome == ("allowed" if asks else plain.outcome)
        assert plain.asked == (permission if asks else None)


def test_a_refusal_names_the_permission_that_would_do() -> None:
    """The reason says both."""
    assert decide("append", "overwrite").reason == (
        "the permission is Append, and an operation that changes or removes content needs ReadWrite"
    )


def test_every_operation_needs_something() -> None:
    """A mutation can't be added without it."""
    assert set(MUTATIONS) < set(OPERATIONS)
    assert set(OPERATIONS.values()) <= set(get_args(Needs))


def test_a_share_grants_at_most_what_the_owner_has() -> None:
    """`partner` and `human` ask different people: neither contains the other."""
    assert at_most("append", "read_write")
    assert not at_most("admin", "read_write")
    assert not at_most("partner", "human")
    assert not at_most("human", "partner")
    assert all(at_most(one, one) for one in PERMISSIONS)


def test_a_share_never_allows_more_than_the_owner_has_by_now() -> None:
    """The owner's permission may have been lowered since."""
    assert effective_permission("append", "admin") == "append"
    assert effective_permission("append", "read_only") == "read_only"
    assert effective_permission("partner", "human") == "human"


def test_only_the_six_are_permissions() -> None:
    """Each has a name for prompts."""
    assert set(SHOWN_PERMISSIONS) == set(PERMISSIONS)
    for wrong in ("write", "ReadWrite", None, 3, ["admin"]):
        with pytest.raises(UnknownName, match="read_only, partner"):
            checked_permission(wrong)
