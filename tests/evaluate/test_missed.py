"""Missed evidence: its text, what stood there instead, and what the page says about a low prefix reuse."""

from __future__ import annotations

import pytest

from germane import Germane
from germane_eval.answers import missed_evidence, nearest_budget
from germane_eval.cli.wording import reuse_advice
from germane_eval.metrics import Reuse
from germane_testing.builders import Hashed

pytestmark = pytest.mark.requirement("EVAL-1")

TALK = [
    {"role": "user", "content": f"The ferry to Skye leaves at {n}. " + "It is white. " * 60, "id": f"m{n}"} for n in range(6)
]


async def test_missed_evidence_has_its_text_and_what_stood_in_its_place() -> None:
    """Long texts are cut; evidence that isn't there has no text."""
    async with Germane.open(":memory:", embedder=Hashed(), freeze=False) as germane:
        agent = germane.agent()
        await agent.record(TALK, session="s1")
        asked = [{"role": "user", "content": "When does the ferry to Skye leave?"}]
        context = await agent.assemble(asked, model="gpt-4o", deadline=None, max_tokens=250)
        shown = {item.provenance.message_id for item in context.items}
        (left, *_), (there, *_) = sorted({one["id"] for one in TALK} - shown), sorted(filter(None, shown))
        missed = await missed_evidence(agent, context, [left, there, "gone"], [0.0, 1.0, 0.0])
    assert [one.id for one in missed] == [left, "gone"]
    assert missed[0].text.startswith("The ferry to Skye leaves at")
    assert len(missed[0].text) <= 400
    assert missed[1].text == ""
    assert 1 <= len(missed[0].instead) <= 3
    assert all(len(one) <= 200 for one in missed[0].instead)


def test_the_budget_nearest_to_a_thousand_tokens_is_shown() -> None:
    """Whatever the budgets are."""
    assert [nearest_budget(budgets) for budgets in ((250, 500), (500, 1000, 2000), (4000,))] == [500, 1000, 4000]


@pytest.mark.parametrize(
    ("share", "own", "said"), [(0.9, 0.95, ""), (0.3, 0.9, "placement append"), (0.2, 0.2, "Your own prompts")]
)
def test_a_low_prefix_reuse_comes_with_what_to_do(share: float, own: float, said: str) -> None:
    """germane's text or the caller's own prompts: whichever breaks the prefix."""
    advice = reuse_advice(Reuse(calls=9, share=share, own=own))
    assert said in advice
    assert bool(said) == bool(advice)
