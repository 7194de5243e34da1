"""Evaluate: measures recall, token use and latency on labelled conversations, without an LLM (EVAL-1).

It opens a `Germane` as a user would, records the conversations, asks their questions, and measures which evidence each
context holds. `fit` fits the relevance model to such conversations; `cli` holds the commands `germane eval`.

    from germane_eval import compare, evaluate, load

    dataset = load(Path("requests.jsonl"))
    report = await evaluate(dataset, strategy="compact")
    print(report.figure("fraction", 1000))
"""

from __future__ import annotations

from germane_eval.dataset import Conversation, Dataset, Question
from germane_eval.formats import load
from germane_eval.report import Comparison, Report, compare
from germane_eval.run import evaluate

__all__ = ["Comparison", "Conversation", "Dataset", "Question", "Report", "compare", "evaluate", "load"]
