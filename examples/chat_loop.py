"""Chat loop: what an agent does around every model call: assemble, ask the model, record both sides.

Without a model of your own it echoes, so that it runs with no key:  python examples/chat_loop.py
Put your provider's call into `ask_model`; `messages` is shaped for it already.
"""

from collections.abc import Sequence
from typing import Any

from germane.sync import Germane


def ask_model(messages: Sequence[Any]) -> str:
    """Your provider's call goes here."""
    return f"(a model would answer, having read {len(messages)} messages)"


def main() -> None:
    with Germane.open("chat.db") as germane:
        agent = germane.agent("companion", user="you")
        agent.warm()
        session = "today"
        history: list[dict[str, Any]] = []
        while True:
            try:
                said = input("you: ").strip()
            except (EOFError, KeyboardInterrupt):
                break
            if not said:
                break
            turn = [*history, {"role": "user", "content": said}]
            context = agent.assemble(turn, model="gpt-4o", session=session)
            answer = ask_model(context.messages)
            print(f"model: {answer}   [{context.metadata.memories_injected} recalled]")
            history = [*turn, {"role": "assistant", "content": answer}]
            agent.record(history, session=session)  # sends all of it: what is kept already is not kept twice


if __name__ == "__main__":
    main()
