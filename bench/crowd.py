"""Crowd: how the store's size changes the calibration of relevance probabilities (SCORE-2).

    python -m bench crowd ../shared/data/locomo-dev --more ../shared/data/beam-100k-dev

The questions of a data set are asked of stores of many sizes: parts of their conversation, the whole conversation, and the
whole among copies of other conversations under new names. For each size the table shows the predicted number of relevant
candidates divided by the true number, the shift of all log-odds that would correct it, and the best slope after that shift (1
is perfect). The parts contain their questions' evidence by construction, so small stores look slightly better than they are:
in a real store some questions have no answer.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from random import Random

import numpy as np

from germane import Message
from germane_eval.dataset import Conversation, Dataset
from germane_eval.fit.candidates import Candidates, rescore
from germane_eval.fit.collect import collect_candidates
from germane_eval.fit.fitting import ModelColumns, load_tables, shipped_tables
from germane_eval.fit.loss import calibrate, reliability
from germane_eval.formats import load

__all__ = ["among", "main", "stretches"]

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NAMES = ("Maria", "Tim", "Lena", "Omar")


def stretches(conversation: Conversation, size: int) -> Iterator[Conversation]:
    """Splits the conversation into runs of `size` messages, each with the questions whose evidence it holds completely."""
    said = [(session, message) for session, messages in conversation.sessions.items() for message in messages]
    for start in range(0, len(said), size):
        run = said[start : start + size]
        ids = {message.id for _, message in run}
        asked = [one for one in conversation.questions if one.evidence <= ids]
        if asked and len(run) > size // 2:
            sessions: dict[str, list[Message]] = {}
            for session, message in run:
                sessions.setdefault(session, []).append(message)
            yield replace(conversation, name=f"{conversation.name}-{start}", sessions=sessions, questions=asked)


def among(conversation: Conversation, crowd: Sequence[Sequence[Message]], size: int) -> Conversation:
    """The conversation, filled up to `size` messages with sessions of `crowd`, which are repeated under new ids."""
    sessions = dict(conversation.sessions)
    missing = size - sum(map(len, sessions.values()))
    for number, messages in enumerate(cycle(crowd)):
        if missing <= 0:
            break
        taken = [replace(message, id=f"crowd-{number}-{at}") for at, message in enumerate(islice(messages, missing))]
        sessions[f"crowd-{number}"] = taken
        missing -= len(taken)
    return replace(conversation, sessions=sessions)


def _crowd(
    own: Conversation, everything: Sequence[Conversation], more: Sequence[Conversation], random: Random
) -> list[list[Message]]:
    """The other conversations' sessions, and those of other data sets in pieces of one to three sentences, as people talk."""
    sessions = [list(said) for one in everything if one is not own for said in one.sessions.values()]
    when = sessions[0][0].created_at if sessions else None
    pieces = []
    for one in more:
        for said in one.sessions.values():
            for message in said:
                sentences = iter(filter(str.strip, _SENTENCE.split(message.content)))
                while piece := " ".join(islice(sentences, random.choice((1, 2, 2, 3)))):
                    pieces.append(piece)
    random.shuffle(pieces)
    for start in range(0, len(pieces), 25):
        pair = random.sample(_NAMES, 2)
        run = [
            Message.of("user", piece, id="-", name=pair[at % 2], created_at=when)
            for at, piece in enumerate(pieces[start : start + 25])
        ]
        sessions.append(run)
    random.shuffle(sessions)
    return sessions


def _sized(data: Dataset, more: Sequence[Conversation], size: int, questions: int, random: Random) -> Dataset:
    made = []
    for one in data.conversations:
        own = sum(map(len, one.sessions.values()))
        if size < own:
            made += list(stretches(one, size))
        else:
            few = random.sample(list(one.questions), min(questions, len(one.questions)))
            made.append(among(replace(one, questions=few), _crowd(one, data.conversations, more, random), size))
    return replace(data, conversations=made)


def _row(lists: Sequence[Candidates], columns: ModelColumns) -> str:
    odds = np.concatenate([columns.relevance.log_odds(rescore(one, columns.relevance).table) for one in lists])
    relevant = np.concatenate([one.relevant for one in lists])
    units = float(np.mean([one.units for one in lists]))
    shift, line = calibrate(odds, relevant, slope=1.0), calibrate(odds, relevant)
    before, after = reliability(odds, relevant), reliability(odds + shift.intercept, relevant)
    return (
        f"{units:>9,.0f}{math.log(units):>7.2f}{len(lists):>8}{before.ratio:>12.2f}{shift.intercept:>+8.2f}{line.slope:>8.2f}"
        f"{before.log_loss:>11.5f}{after.log_loss:>9.5f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench crowd", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--more", type=Path, nargs="*", default=[], help="data sets whose messages swell the crowd")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000])
    parser.add_argument("--questions", type=int, default=60, help="of each conversation, where it stands in a crowd")
    parser.add_argument("--embedder", default="distilled")
    parser.add_argument("--model", type=Path, help="coefficients; the shipped ones by default")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    data = load(options.data)
    more = [one for path in options.more for one in load(path).conversations]
    columns = ModelColumns(shipped_tables(options.embedder) if options.model is None else load_tables(options.model))
    print(f"{'units':>9}{'ln':>7}{'asked':>8}{'ΣP/relevant':>12}{'shift':>8}{'slope':>8}{'log loss':>11}{'shifted':>9}")
    for size in options.sizes:
        sized = _sized(data, more, size, options.questions, Random(options.seed))
        lists = asyncio.run(collect_candidates(sized, embedder=options.embedder, relevance=columns.relevance))
        if lists:
            print(_row(lists, columns), flush=True)


if __name__ == "__main__":
    main()
