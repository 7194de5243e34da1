"""Exports: the public names of germane. A change here belongs in the changelog."""

from __future__ import annotations

import germane
import germane.sync
from support.source_tree import beside

FACE = """
    Agent Block Candidate Cap Chosen Clock Conflict ConsentNeeded Context EmbedderError Filters Germane GermaneError
    InvalidInput LLMError Memory Message Metadata MissingExtra NotFound NotPermitted Provenance Scope Scored Settings Shares
    SourcePlan Stale State StoreCorrupt StoreError StoreTooNew StoreUnavailable Strategies Strategy Trace UnknownName Weights
    derive
"""

FOR_TESTS = """
    alias_contract block_contract builders conversations event_contract faults graph_contract injection_contract
    inventory_contract memory_contract pins provider pytest_plugin scope_contract store_contract time_warp transfer_contract
    validators
"""


def test_germane_exports_exactly_its_public_face() -> None:
    """A new or a missing public name fails here first."""
    assert germane.__all__ == FACE.split()


def test_the_blocking_twin_exports_its_handles() -> None:
    """`germane.sync` has only the blocking handles; values are shared with `germane`."""
    assert germane.sync.__all__ == [
        *("Agent", "AgentBlocks", "AgentConversations", "AgentDocuments", "AgentEvents", "AgentGraph", "AgentMemories"),
        *("AgentTasks", "Delegation", "Delegations", "Germane", "Keyring", "Patterns"),
    ]


def test_what_germane_offers_to_tests_of_others_is_this() -> None:
    """Every module of `germane_testing` is public, and of its package `provider` what this lists."""
    names = [module.name.removeprefix("germane_testing.") for module in beside() if module.name.startswith("germane_testing.")]
    assert [name for name in names if not name.startswith("provider.")] == FOR_TESTS.split()
