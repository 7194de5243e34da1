"""Acceptance: whether a language model's text may stand for messages, and why not (HIST-3).

The text is data; nothing in it is followed. A text is accepted if it is shorter than what it replaces, within its tokens, a
report and nothing else, made of what was said, and holds what must be kept. Each rule can be wrong about an honest summary:
the extractive one then serves, which costs little. A false summary that passes would cost more.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Sequence, Set
from functools import cache
from importlib.resources import files

from germane.compaction.notes import Artifact, Constraint, ExchangeNotes, Ledger, is_open
from germane.compaction.summary_text import notes_of_summary
from germane.extraction.llm.grounds import Grounds, demanding_clauses
from germane.kinds.memories.conflicts import negations
from germane.text.clauses import clause_texts, sentence_texts, sentences
from germane.text.language import detect
from germane.text.normal import fold, normalised, visible
from germane.text.specifics import KnownSpecifics, specifics
from germane.text.templates import neutralise
from germane.text.terms import analyse

_MIN_GROUNDED = 0.4
"""Share of a text's words that what it replaces must hold: it is about them, and in their language."""
_REPORTING = (
    "user assistant Nutzer Benutzer Assistent utilisateur usuario asistente utente usuário 用户 助手 ユーザー アシスタント"
)
"""Words for the speakers, which every summary holds."""
_KEPT_SPECIFICS, _KEPT_WORDS = 0.6, 0.2
"""Shares of what the extractive summary says that the text, or what is pinned beside it, must keep: numbers, paths, addresses
and identifiers; and words."""
_MIN_LETTERS = 0.5
"""Share of letters among the characters of a text, white space aside."""
_DISTINCT, _MIN_SENTENCES = 0.6, 5
"""Share of a text's sentences that differ, where it has that many: a model that is stuck repeats one."""
_MIN_ECHO = 40
"""Characters from which on a text that stands word for word in a message, or in the instructions, is an echo."""
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
        return contradiction_in(text, self._ledger.constraints, self._ledger.artifacts)


def tidy(answer: str) -> str:
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


def rejection(
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
    if what := address_in(text):
        return f"the language model's answer holds {what}"
    if (tokens := count(text)) > max_tokens:
        return "the language model's answer was too long"
    if tokens >= replaced.tokens:
        return "the language model's answer isn't shorter than what it replaces"
    if replaced.holds(text) or any(line in text for line in instructions.split("\n") if len(line) >= _MIN_ECHO):
        return "the language model's answer is an echo"
    if _repeats(text):
        return "the language model's answer repeats itself"
    if replaced.share(frozenset(analyse(text))) < _MIN_GROUNDED:
        return "the language model's answer isn't about the messages"
    if invented := replaced.invented(text):
        return f"the language model's answer has {invented} numbers or names that the messages don't have"
    if what := replaced.grounds.missing(text):
        return f"the language model's answer has {what} that the messages don't have"
    return ""


def rejection_beside_pinned(text: str, summary: str, must_keep: MustKeep) -> str:
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
    return sum(unicodedata.category(char)[0] in "LM" for char in solid) < _MIN_LETTERS * len(solid)


def _repeats(text: str) -> bool:
    said = ["".join(filter(str.isalnum, text[start:end])) for start, end in sentences(text)]
    said = [one for one in said if one]
    return len(said) >= _MIN_SENTENCES and len(set(said)) < _DISTINCT * len(said)


def _pinned(notes: ExchangeNotes) -> Iterable[str]:
    """What the rules noted beside the line: constraints and artifacts."""
    yield from (constraint.text for constraint in notes.constraints)
    yield from (f"{artifact.name} {artifact.change}" for artifact in notes.artifacts)


# Tells an answer that speaks to somebody, or has structure of its own, from a summary, which only reports.


_REFUSAL_REACH = 160
"""Characters at the beginning in which a refusal is looked for."""
_SPACES = re.compile(r"\s+")
_HEADING = re.compile(r"^[^\S\n]{0,8}(?:#{1,6}[^\S\n]|={4,}|-{4,}|\*{4,})", re.MULTILINE)
"""Headings of Markdown, and lines that set sections apart."""
_TAG = re.compile(
    r"<[^\S\n]{0,4}[/!?]?[^\S\n]{0,4}(?:antml|assistant|block|context|conversation|directive|document|end|example|function|human"
    r"|important|input|instruction|invoke|memor|message|notice|output|parameter|prompt|reminder|result|rule|summary|system|think"
    r"|tool|user)[\w:.-]{0,40}(?:[\s/][^<>\n]{0,200})?>|^[^\S\n]{0,8}</?[A-Za-z][^<>\n]{0,200}>",
    re.IGNORECASE | re.MULTILINE,
)
"""Tags that structure prompts, and any tag that begins a line."""
_TOOL_CALL = re.compile(
    r"[\"'](?:tool_calls?|function_call|tool_use|tool_call_id|tool_use_id|arguments|parameters|input|recipient_name)[\"']\s{0,4}:"
    r"|[\"'](?:role|type)[\"']\s{0,4}:\s{0,4}[\"'](?:system|developer|user|assistant|tool|function|tool_use|tool_result)[\"']"
    r"|```[^\S\n]{0,4}tool|\bto=functions\.",
    re.IGNORECASE,
)
"""Calls of tools and messages, as models and APIs write them."""


def address_in(text: str) -> str:
    """Returns what shows that `text` isn't a report: `a refusal`, `instructions`, `a role label or template token`, `a
    heading`, `a tag`, `a tool call`; '' where nothing does. Words that instruct count wherever they stand, also where they are
    quoted."""
    folded = _SPACES.sub(" ", fold(text))
    refusals, orders = _phrases()
    head = folded[:_REFUSAL_REACH].lstrip(" *_#>-\"'")
    if head.startswith(refusals):
        return "a refusal"
    if any(order in folded for order in orders):
        return "instructions"
    if neutralise(text) != text:
        return "a role label or template token"
    for what, expression in (("a heading", _HEADING), ("a tag", _TAG), ("a tool call", _TOOL_CALL)):
        if expression.search(text):
            return what
    return ""


@cache
def _phrases() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The refusals and the orders of all languages, folded."""
    tables = tomllib.loads(
        files("germane.compaction.llm_summary").joinpath("phrases.toml").read_text(encoding="utf-8")
    ).values()
    return (
        tuple(fold(phrase) for table in tables for phrase in table["refusals"]),
        tuple(fold(phrase) for table in tables for phrase in table["orders"]),
    )


# Finds where a summary says the opposite of what is pinned beside it: constraints, deleted files, open tasks. A clause
# that shares most words with a constraint, and permits, demands or wants something, must negate as often as the
# constraint does. What is said in other words isn't found. The words are those of English, German, French and Spanish.


_MIN_SHARED = 0.6
"""Share of the words of a constraint or a task that make a sentence one about it."""
_WORD = re.compile(r"\w+")


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DEMANDING = _word_set(
    "may can could should must shall allowed permitted permits allows wants want asked agreed free fine ok okay lifted"
    " approved prefers required told said darf durfen durfte soll sollen sollte muss mussen kann konnen erlaubt gestattet"
    " will mochte verlangt wunscht peut peuvent doit doivent autorise permis veut souhaite demande puede pueden debe deben"
    " permitido permite quiere pide autorizado"
)
_DONE = _word_set(
    "done completed complete finished resolved closed fixed shipped implemented erledigt abgeschlossen fertig behoben"
    " termine terminee fini acheve resolu terminado terminada hecho completado completada resuelto"
)
_PENDING = _word_set(
    "open todo pending remaining remains left outstanding unfinished still yet later next offen ausstehend noch spater"
    " reste restent encore pendiente queda quedan falta aun todavia"
)
_GONE = _word_set(
    "deleted removed dropped delete remove gone deletion removal geloscht entfernt supprime supprimee efface eliminado"
    " eliminada borrado borrada renamed moved replaced reverted"
)


def contradiction_in(text: str, constraints: Iterable[Constraint], artifacts: Iterable[Artifact]) -> str:
    """Returns what `text` contradicts: `a constraint`, `a deleted file`, `an open task`; '' where it contradicts none of them.
    Linear in the text for each constraint and task that is pinned."""
    language = detect(text)
    said = [_ComparedSentence(sentence, language) for sentence in sentence_texts(text)]
    parts = [_ComparedSentence(clause, language) for clause in clause_texts(text)]
    for clause in (clause for constraint in constraints for clause in demanding_clauses(constraint.text)):
        stems, negated = _stems(clause, language), negations(clause) % 2
        if any(one.is_about(stems) and one.demands and one.negated != negated for one in parts):
            return "a constraint"
    for artifact in artifacts:
        if artifact.kind == "file" and artifact.change.rsplit(",", 1)[-1].strip() == "deleted":
            name = fold(artifact.name)
            naming = [one for one in said if name in one.folded]
            if naming and not any(one.words & _GONE for one in naming):
                return "a deleted file"
        elif artifact.kind == "task" and is_open(artifact):
            stems = _stems(artifact.name, language)
            if any(one.is_about(stems) and one.finished for one in said):
                return "an open task"
    return ""


class _ComparedSentence:
    """What is compared of one sentence."""

    __slots__ = ("folded", "negated", "stems", "words")

    def __init__(self, sentence: str, language: str | None) -> None:
        self.folded = fold(sentence)
        self.words = frozenset(_WORD.findall(self.folded))
        self.stems = _stems(sentence, language)
        self.negated = negations(sentence) % 2

    def is_about(self, stems: Set[str]) -> bool:
        return len(stems) > 1 and len(stems & self.stems) >= _MIN_SHARED * len(stems)

    @property
    def demands(self) -> bool:
        return not self.words.isdisjoint(_DEMANDING)

    @property
    def finished(self) -> bool:
        return not self.negated and not self.words.isdisjoint(_DONE) and self.words.isdisjoint(_PENDING)


def _stems(text: str, language: str | None) -> frozenset[str]:
    return frozenset(analyse(text, language))
