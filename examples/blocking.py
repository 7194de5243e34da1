"""Blocking: the same API without `await`, for scripts, notebooks and threaded servers.

python examples/blocking.py
"""

from germane.sync import Germane


def main() -> None:
    with Germane.open(":memory:") as germane:
        agent = germane.agent("librarian")
        agent.remember(kind="fact", key="opening hours", value="10 to 18, Mondays closed")
        agent.remember("Readers may borrow five books for four weeks", title="Lending", tags=["rules"])
        for hit in agent.search("How long may I keep a book?", limit=2):
            print(f"{hit.score:.2f}  {hit.candidate.text}")


if __name__ == "__main__":
    main()
