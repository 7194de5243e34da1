"""Service client, as a gateway uses it: assemble the context, call the model with it, record both sides.

germane serve --db germane.db &
python examples/service_client.py
"""

import asyncio

from germane.errors import GermaneError
from germane.grpc.client import Client


async def model(messages: list) -> str:
    """Replace this by your provider's call."""
    return f"I was sent {len(messages)} messages."


async def main() -> None:
    asked = [{"role": "user", "content": "Where is my parcel 4711?"}]
    async with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        await client.warm()
        answer = await client.assemble(asked, model="gpt-4o", user="caroline", session="monday")
        print(answer)  # without a server: <Answer 1 messages 0 tokens L3 grpc_error:UNAVAILABLE>
        said = await model(answer.messages)
        try:
            await client.within(user="caroline").record([*asked, {"role": "assistant", "content": said}], session="monday")
        except GermaneError as error:
            print(f"not recorded: {error}")


if __name__ == "__main__":
    asyncio.run(main())
