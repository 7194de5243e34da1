"""First steps: store a memory and a conversation, then assemble the messages for the next call. Needs no key and no network.

python examples/first_steps.py
"""

import asyncio

from germane import Germane

EARLIER = [
    {"role": "user", "content": "My parcel 4711 arrived broken, the blue vase is in pieces."},
    {"role": "assistant", "content": "I'm sorry. I've ordered a new vase, it leaves on Monday."},
]
NOW = [{"role": "user", "content": "Has my new vase been sent yet? Please tell me the way I like it."}]


async def main() -> None:
    async with Germane.open(":memory:") as germane:
        agent = germane.agent("support", org="acme", user="caroline")
        await agent.directive("You answer for Acme's support. Be brief and kind.")
        await agent.remember("Prefers e-mail to phone calls", kind="preference", pinned=True)
        await agent.record(EARLIER, session="monday")
        context = await agent.assemble(NOW, model="gpt-4o", session="tuesday", deadline=None)
        for message in context.to_openai():
            print(f"[{message['role']}]\n{message['content']}\n")
        print(context.explain())


if __name__ == "__main__":
    asyncio.run(main())
