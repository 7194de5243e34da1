"""Contradiction: finds where a summary says the opposite of what is pinned beside it: constraints, deleted files, open tasks.

A rule on words: a clause that shares most words with a constraint, and permits, demands or wants something, must negate as
often as the constraint does. What is said in other words isn't found. The words are those of English, German, French and
Spanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from germane.compaction.ledger import is_open
from germane.compaction.notes import Artifact, Constraint
from germane.memories.contrast import negations
from germane.memories.grounds import demanding_clauses
from germane.text.analyse import analyse
from germane.text.language import detect
from germane.text.normal import fold
from germane.text.sentences import clause_texts, sentence_texts

__all__ = ["contradicts"]

_SHARED = 0.6
"""Share of the words of a constraint or a task that make a sentence one about it."""
_WORD = re.compile(r"\w+")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DEMANDING = _set(
    "may can could should must shall allowed permitted permits allows wants want asked agreed free fine ok okay lifted"
    " approved prefers required told said darf durfen durfte soll sollen sollte muss mussen kann konnen erlaubt gestattet"
    " will mochte verlangt wunscht peut peuvent doit doivent autorise permis veut souhaite demande puede pueden debe deben"
    " permitido permite quiere pide autorizado"
)
_DONE = _set(
    "done completed complete finished resolved closed fixed shipped implemented erledigt abgeschlossen fertig behoben"
    " termine terminee fini acheve resolu terminado terminada hecho completado completada resuelto"
)
_PENDING = _set(
    "open todo pending remaining remains left outstanding unfinished still yet later next offen ausstehend noch spater"
    " reste restent encore pendiente queda quedan falta aun todavia"
)
_GONE = _set(
    "deleted removed dropped delete remove gone deletion removal geloscht entfernt supprime supprimee efface eliminado"
    " eliminada borrado borrada renamed moved replaced reverted"
)


def contradicts(text: str, constraints: Iterable[Constraint], artifacts: Iterable[Artifact]) -> str:
    """Returns what `text` contradicts: `a constraint`, `a deleted file`, `an open task`; '' where it contradicts none of them.
    Linear in the text for each constraint and task that is pinned."""
    language = detect(text)
    said = [_Said(sentence, language) for sentence in sentence_texts(text)]
    parts = [_Said(clause, language) for clause in clause_texts(text)]
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


class _Said:
    """What is compared of one sentence."""

    __slots__ = ("folded", "negated", "stems", "words")

    def __init__(self, sentence: str, language: str | None) -> None:
        self.folded = fold(sentence)
        self.words = frozenset(_WORD.findall(self.folded))
        self.stems = _stems(sentence, language)
        self.negated = negations(sentence) % 2

    def is_about(self, stems: Set[str]) -> bool:
        return len(stems) > 1 and len(stems & self.stems) >= _SHARED * len(stems)

    @property
    def demands(self) -> bool:
        return not self.words.isdisjoint(_DEMANDING)

    @property
    def finished(self) -> bool:
        return not self.negated and not self.words.isdisjoint(_DONE) and self.words.isdisjoint(_PENDING)


def _stems(text: str, language: str | None) -> frozenset[str]:
    return frozenset(analyse(text, language))
