"""A client of the service, as a gateway uses it: ask, call the model with what comes back, keep what was said.

germane serve --db germane.db &
python examples/service_client.py
"""

import asyncio

from germane.errors import GermaneError
from germane.grpc.client import Client


async def model(messages: list) -> str:
    """Stands for the call of a provider."""
    return f"I was sent {len(messages)} messages."


async def main() -> None:
    asked = [{"role": "user", "content": "Where is my parcel 4711?"}]
    async with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        await client.warm()
        answer = await client.assemble(asked, model="gpt-4o", user="caroline", session="monday")
        print(answer)  # with nobody there: <Answer 1 messages 0 tokens L3 grpc_error:UNAVAILABLE>
        said = await model(answer.messages)
        try:
            await client.within(user="caroline").record([*asked, {"role": "assistant", "content": said}], session="monday")
        except GermaneError as error:
            print(f"not kept: {error}")


if __name__ == "__main__":
    asyncio.run(main())
