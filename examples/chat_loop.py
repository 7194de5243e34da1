"""Chat loop: the steps around every model call: assemble the context, ask the model, record both sides.

The example runs without an API key, because `ask_model` only echoes:  python examples/chat_loop.py
Replace its body by your provider's call; `messages` already has the provider's shape.
"""

from collections.abc import Sequence
from typing import Any

from germane.sync import Germane


def ask_model(messages: Sequence[Any]) -> str:
    """Replace this by your provider's call."""
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
            agent.record(history, session=session)  # idempotent: messages that are stored already are skipped


if __name__ == "__main__":
    main()
