"""Own source: candidates from outside the store, here a price list, ranked and packed together with stored data.

python examples/own_source.py
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from germane import Candidate, Germane, derive
from germane.stores.contract import ScopedStore
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

PRICES = {"vase": "Blue vase, 24 euros, in stock", "teapot": "Iron teapot, 61 euros, two weeks"}


class Prices:
    """Offers the lines of the price list whose article the question names. germane makes one for each scope."""

    def __init__(self, store: ScopedStore) -> None:
        self._scope = store.scope

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        named = [word for word in PRICES if word in query.text.casefold()]
        return [
            Candidate(
                id=f"price-{word}",
                source="prices",
                category="prices",
                text=PRICES[word],
                created_at=datetime(2025, 1, 1, tzinfo=UTC),
                evidence=Evidence(structured=1.0),
            )
            for word in named[: plan.limit]
        ]


async def main() -> None:
    async with Germane.open(":memory:", sources={"prices": Prices}) as germane:
        default = germane.strategies.find("default")
        germane.strategies.register(derive(default, {"name": "shop", "sources": {"prices": {"limit": 5}}}))
        agent = germane.agent("shop", user="caroline")
        context = await agent.assemble(
            [{"role": "user", "content": "What does the vase cost?"}], model="gpt-4o", strategy="shop", deadline=None
        )
        print(context.added or "nothing added")
        print(context.explain())


if __name__ == "__main__":
    asyncio.run(main())
