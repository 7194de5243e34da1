"""Own strategy: the built-in ranking with your own limits, set in code or in a settings file.

python examples/own_strategy.py
"""

import asyncio
from pathlib import Path

from germane import Germane, derive

SETTINGS = Path(__file__).with_name("settings.toml")
QUESTION = [{"role": "user", "content": "What tea does Ada like, and when does she drink it?"}]


async def main() -> None:
    async with Germane.open(":memory:", settings=SETTINGS) as germane:
        terse = germane.strategies.find("terse")  # from the settings file
        germane.strategies.register(derive(terse, {"name": "facts-first", "shares": {"kinds": {"conversation": {"items": 1}}}}))
        agent = germane.agent("host", user="ada")
        await agent.remember(kind="fact", key="favourite tea", value="Assam")
        await agent.record(
            [
                {"role": "user", "content": "I drink my tea at four, with milk."},
                {"role": "user", "content": "Tea before bed keeps me awake."},
            ],
            session="s1",
        )
        for name in ("default", "terse", "facts-first"):
            context = await agent.assemble(QUESTION, model="gpt-4o", strategy=name, deadline=None)
            print(f"{name}: {len(context.items)} items, {context.metadata.total_tokens_injected} tokens\n{context.added}\n")


if __name__ == "__main__":
    asyncio.run(main())
