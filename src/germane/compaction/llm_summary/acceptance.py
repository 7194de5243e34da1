"""Acceptance: whether a language model's text may stand for messages, and why not (HIST-3). The text is data; nothing is
followed.

A text is accepted if it is shorter than what it replaces, within its tokens, a report and nothing else, made of what was said,
and holds what must be kept. Each rule can be wrong about an honest summary: the extractive one then serves, which costs little.
A false summary that passes would cost more.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence, Set

from germane.compaction.extractive import notes_of_summary
from germane.compaction.ledger import Ledger
from germane.compaction.llm_summary.addressed import addresses
from germane.compaction.llm_summary.contradiction import contradicts
from germane.compaction.notes import ExchangeNotes
from germane.memories.grounds import Grounds
from germane.text.analyse import analyse
from germane.text.invisible import visible
from germane.text.normal import normalised
from germane.text.sentences import sentences
from germane.text.specifics import KnownSpecifics, specifics

__all__ = ["MustKeep", "Replaced", "dropped", "refused", "tidied"]

_GROUNDED = 0.4
"""Share of a text's words that what it replaces must hold: it is about them, and in their language."""
_REPORTING = (
    "user assistant Nutzer Benutzer Assistent utilisateur usuario asistente utente usuário 用户 助手 ユーザー アシスタント"
)
"""Words for the speakers, which every summary holds."""
_KEPT_SPECIFICS, _KEPT_WORDS = 0.6, 0.2
"""Shares of what the extractive summary says that the text, or what is pinned beside it, must keep: numbers, paths, addresses
and identifiers; and words."""
_LETTERS = 0.5
"""Share of letters among the characters of a text, white space aside."""
_DISTINCT, _MIN_SENTENCES = 0.6, 5
"""Share of a text's sentences that differ, where it has that many: a model that is stuck repeats one."""
_MIN_ECHO = 40
"""Characters from which on a text that stands word for word in a message, or in the instructions, is an echo."""
_NO_TEXT = frozenset({"Cc", "Cs", "Co", "Cn"})
"""Categories of control characters, surrogates, and code points without a meaning."""
_FENCE = "```"
_MAX_PREAMBLE = 120
_PREAMBLE = (
    "summary",
    "zusammenfassung",
    "resume",
    "résumé",
    "resumen",
    "riassunto",
    "resumo",
    "samenvatting",
    "摘要",
    "总结",
    "要約",
)


class Replaced:
    """What a text is to stand for, as the language model was sent it: an earlier summary, messages, and what the rules
    noted."""

    __slots__ = ("_known", "_said", "_stems", "grounds", "tokens")

    def __init__(self, earlier: str, notes: Iterable[ExchangeNotes], count: Callable[[str], int]) -> None:
        self._known, self._stems, self._said = KnownSpecifics(), set(analyse(_REPORTING)), list[str]()
        self.tokens = 0
        """Of the earlier summary and the messages."""
        notes = list(notes)
        self.grounds = Grounds(each.text for one in notes for each in one.constraints)
        self.grounds.add(earlier, "user")
        self.add([earlier], count)
        for one in notes:
            for text in (one.line, *_pinned(one)):
                self._known.add(text)
                self._stems.update(analyse(text))

    def add(self, texts: Sequence[str], count: Callable[[str], int]) -> None:
        """Adds messages. Linear in their length."""
        for text in texts:
            self._known.add(text)
            self._stems.update(analyse(text))
            self._said.append(" ".join(text.split()))
        self.tokens += count("\n".join(texts)) if any(texts) else 0

    def share(self, stems: Set[str]) -> float:
        """Returns the share of these stems that what is replaced holds."""
        return len(stems & self._stems) / len(stems) if stems else 0.0

    def invented(self, text: str) -> int:
        """Returns how many numbers and names of `text` what is replaced doesn't hold."""
        return sum(not self._known.knows(one) for one in specifics(text))

    def holds(self, text: str) -> bool:
        """Returns whether `text` stands word for word in one of the messages."""
        bare = " ".join(text.split())
        return len(bare) >= _MIN_ECHO and any(bare in said for said in self._said)


class MustKeep:
    """What must be kept of what is replaced: the numbers, names and words of the outline that the rules would show in a text's
    place, and of the earlier summary; and what is pinned, which the text mustn't contradict."""

    __slots__ = ("_ledger", "_specifics", "_stems")

    def __init__(self, extractive: str, earlier: str, notes: Iterable[ExchangeNotes]) -> None:
        self._ledger = Ledger(notes)
        outline = "\n".join(one.line for one in notes_of_summary(extractive))
        self._specifics = tuple(dict.fromkeys((*specifics(outline), *specifics(earlier))))
        self._stems = frozenset((*analyse(outline), *analyse(earlier)))

    def specifics_kept(self, summary: str) -> float:
        """Returns the share of the numbers, paths, addresses and identifiers that `summary` holds; 1 of none."""
        kept = KnownSpecifics((summary,))
        return sum(map(kept.knows, self._specifics)) / len(self._specifics) if self._specifics else 1.0

    def words_kept(self, text: str) -> float:
        """Returns the share of the words that `text` holds; 1 of none."""
        return len(self._stems.intersection(analyse(text))) / len(self._stems) if self._stems else 1.0

    def contradicted(self, text: str) -> str:
        """Returns what is pinned that `text` contradicts, '' where nothing is."""
        return contradicts(text, self._ledger.constraints, self._ledger.artifacts)


def tidied(answer: str) -> str:
    """Returns the answer composed and without invisible characters, without a fence of backticks around it, and without a first
    line that only announces a summary."""
    text = normalised(visible(answer)).strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE) and "\n" in text:
        text = text.partition("\n")[2].removesuffix(_FENCE).strip()
    first, _, rest = text.partition("\n")
    bare = first.strip(" *#_").casefold()
    if rest.strip() and len(bare) <= _MAX_PREAMBLE and bare.endswith((":", "：")) and any(word in bare for word in _PREAMBLE):
        text = rest.strip()
    return text


def refused(
    answer: str,
    text: str,
    replaced: Replaced,
    *,
    max_tokens: int,
    count: Callable[[str], int],
    instructions: str = "",
) -> str:
    """Returns why `text`, the tidied `answer`, isn't accepted, without any of its content; '' where it is. `instructions` are
    those that the language model was given. Linear."""
    if _is_garbage(answer, text):
        return "the language model's answer isn't text"
    if not text:
        return "the language model's answer was empty"
    if what := addresses(text):
        return f"the language model's answer holds {what}"
    if (tokens := count(text)) > max_tokens:
        return "the language model's answer was too long"
    if tokens >= replaced.tokens:
        return "the language model's answer isn't shorter than what it replaces"
    if replaced.holds(text) or any(line in text for line in instructions.split("\n") if len(line) >= _MIN_ECHO):
        return "the language model's answer is an echo"
    if _repeats(text):
        return "the language model's answer repeats itself"
    if replaced.share(frozenset(analyse(text))) < _GROUNDED:
        return "the language model's answer isn't about the messages"
    if invented := replaced.invented(text):
        return f"the language model's answer has {invented} numbers or names that the messages don't have"
    if what := replaced.grounds.missing(text):
        return f"the language model's answer has {what} that the messages don't have"
    return ""


def dropped(text: str, summary: str, must_keep: MustKeep) -> str:
    """Returns what is wrong with `summary`, which is the accepted `text` with what is pinned beside it; '' where nothing is."""
    if not summary:
        return "the language model's answer has no room beside what must be kept"
    if what := must_keep.contradicted(text):
        return f"the language model's answer contradicts {what}"
    if must_keep.specifics_kept(summary) < _KEPT_SPECIFICS:
        return "the language model's answer drops numbers or names that must be kept"
    if must_keep.words_kept(text) < _KEPT_WORDS:
        return "the language model's answer says too little"
    return ""


def _is_garbage(answer: str, text: str) -> bool:
    """Whether the answer has characters that no text has, or fewer letters than anything else."""
    if "\ufffd" in answer or any(
        unicodedata.category(char) in ("Cc", "Cs", "Co", "Cn") and char not in "\n\r\t" for char in answer
    ):
        return True
    solid = "".join(text.split())
    return sum(unicodedata.category(char)[0] in "LM" for char in solid) < _LETTERS * len(solid)


def _repeats(text: str) -> bool:
    said = ["".join(filter(str.isalnum, text[start:end])) for start, end in sentences(text)]
    said = [one for one in said if one]
    return len(said) >= _MIN_SENTENCES and len(set(said)) < _DISTINCT * len(said)


def _pinned(notes: ExchangeNotes) -> Iterable[str]:
    """What the rules noted beside the line: constraints and artifacts."""
    yield from (constraint.text for constraint in notes.constraints)
    yield from (f"{artifact.name} {artifact.change}" for artifact in notes.artifacts)
