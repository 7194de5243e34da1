"""Known: what is stored about the user already, as a language model is shown it: memories, and the clauses that stand as lines
of the profile, each under a short name by which the answer can say that it has ended, or is said by a new line too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from germane.memories.contrast import Statement, keeps
from germane.memories.extraction.extracted import is_extracted
from germane.memories.llm_extraction.claim import Claim
from germane.memories.memory import Fact, Memory
from germane.text.analyse import analyse
from germane.types.profile_line import INSTRUCTION, ProfileLine, replaced_by

__all__ = ["MAX_SENT", "KnownStatement", "known_names", "known_things"]

_MEMORIES, _CLAUSES = 40, 20
MAX_SENT, _MAX_KNOWN = 4_000, 300
"""Characters of one message, and of one known thing, that are sent."""
_KEPT = 0.5
"""The share of a known thing's words that a line must have which stands in its place."""
_RULE, _ABOUT = "behavior", "about"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStatement:
    """`id` is a memory's, or the name of a clause of the message `message`. `kind` is a memory's, and of a clause `behavior` or
    `about`. `speaker` is the name under which it was said, where there is one. `replaceable` says that a new line may stand in
    its place: it was found in messages, nobody pinned it, and all of it is sent."""

    id: str
    kind: str
    text: str
    said_at: datetime
    key: str = ""
    message: str = ""
    speaker: str = ""
    line: bool = False
    """Whether it may stand in the profile."""
    replaceable: bool = True

    def is_kept_by(self, text: str, kind: str) -> bool:
        """Whether a memory of this text and kind says all that this thing says, as far as words tell. An instruction is no
        fact; which of the two a clause is, was only guessed."""
        if not self.replaceable or (not self.message and (self.kind == _RULE) != (kind == _RULE)):
            return False
        return self.shares(set(analyse(text))) and keeps(Statement(text), Statement(self.text))

    def shares(self, words: AbstractSet[str]) -> bool:
        """Whether half of the words of this thing are among these."""
        own = set(analyse(self.text))
        return len(own & words) >= _KEPT * len(own)


def known_things(memories: Sequence[Memory], lines: Sequence[ProfileLine], claim: Claim) -> list[KnownStatement]:
    """Returns what is sent: of the user's `memories`, newest first, at most 40 that share most words with the claim's messages,
    of those that share as many the newest; and 20 of the `lines`, which are those memories or clauses, the worthiest first: of
    the clauses those of which no memory was made."""
    own, replaced = {memory.id for memory in memories}, replaced_by(lines)
    standing = {line.id: line for line in lines if line.id not in replaced}
    whole = [memory for memory in memories if memory.id not in replaced]
    sent = [_memory(memory, standing.get(memory.id)) for memory in _relevant(whole, claim)]
    made = [(set(memory.derived_from), set(analyse(memory.text))) for memory in whole]
    clauses = (_clause(line) for line in standing.values() if line.id not in own)
    apart = (one for one in clauses if not any(one.message in of and one.shares(words) for of, words in made))
    return [*sent, *islice(apart, _CLAUSES)]


def known_names(known: Sequence[KnownStatement]) -> Mapping[str, KnownStatement]:
    """Returns what is known by the short names that stand for it in the prompt."""
    return {f"k{number}": one for number, one in enumerate(known, start=1)}


def _relevant(known: Sequence[Memory], claim: Claim) -> list[Memory]:
    said = set(analyse("\n".join(event.text[:MAX_SENT] for event in claim.turns)))
    shared = [len(said.intersection(analyse(memory.text[:_MAX_KNOWN]))) for memory in known]
    best = sorted(range(len(known)), key=lambda index: -shared[index])[:_MEMORIES]
    return [known[index] for index in sorted(best)]


def _memory(memory: Memory, line: ProfileLine | None) -> KnownStatement:
    content = memory.content
    key, text = (content.key, str(content.value)) if isinstance(content, Fact) else ("", memory.text)
    return KnownStatement(
        id=memory.id,
        kind=memory.kind,
        text=text[:_MAX_KNOWN],
        said_at=memory.valid_from,
        key=key,
        speaker=memory.provenance.speaker,
        line=line is not None,
        replaceable=is_extracted(memory) and not (memory.pinned or (line is not None and line.pinned)) and _is_whole(text),
    )


def _clause(line: ProfileLine) -> KnownStatement:
    return KnownStatement(
        id=line.id,
        kind=_RULE if line.kind == INSTRUCTION else _ABOUT,
        text=line.text[:_MAX_KNOWN],
        said_at=line.said_at,
        message=line.origin,
        speaker=line.speaker,
        line=True,
        replaceable=not line.pinned and _is_whole(line.text),
    )


def _is_whole(text: str) -> bool:
    return len(text) <= _MAX_KNOWN
