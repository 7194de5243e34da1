"""Missed section: the questions without all of their evidence, each with what was missed and what stood there instead."""

from __future__ import annotations

from germane.cli.evaluation.html_parts import details, text
from germane.evaluate.answered import Answered
from germane.evaluate.missed import nearest_budget
from germane.evaluate.recall import fraction_within
from germane.evaluate.report import Report

__all__ = ["missed_section"]

_MAX_MISSED = 50


def missed_section(report: Report) -> str:
    """Returns a section that the reader can open, the worst questions first; empty where nothing was missed."""
    near = nearest_budget(report.run.budgets)
    answers = [answer for answer in report.answered if answer.clock == report.run.clocks[0]]
    fractions = [
        (fraction_within(packed.shares), answer) for answer in answers for packed in answer.shown if packed.budget == near
    ]
    missed = sorted((pair for pair in fractions if pair[0] < 1), key=lambda pair: pair[0])
    if not missed:
        return ""
    listed = "".join(_card(share, answer) for share, answer in missed[:_MAX_MISSED])
    more = f", the {_MAX_MISSED} worst" if len(missed) > _MAX_MISSED else ""
    return details(f"{len(missed):,} questions without all of their evidence within {near:,} tokens{more}", listed)


def _card(share: float, answer: Answered) -> str:
    ranks = ", ".join("–" if rank is None else str(rank) for rank in answer.ranks)
    about = " · ".join(filter(None, (f"{100 * share:.0f} % shown", f"ranks {ranks}", answer.category, answer.id)))
    parts = [f"<h3>{text(answer.question)}</h3>", f'<p class="quiet">{text(about)}</p>']
    parts += [f"<p><b>Missed</b> {text(one.text or one.id)}</p>" for one in answer.missed]
    if answer.missed and (instead := answer.missed[0].instead):
        items = "".join(f"<li>{text(one)}</li>" for one in instead)
        parts.append(f"<p><b>What stood there instead</b></p><ul>{items}</ul>")
    return f'<article class="tile">{"".join(parts)}</article>'
