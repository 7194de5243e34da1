"""Evaluate: how good, how fast, without an LLM (EVAL-1). Beside the front: it opens a germane as a user would, puts labelled
conversations into it, asks, and looks at what came back. It also fits the relevance model. Nothing below knows of it.

    from germane.evaluate import compare, evaluate, load

    dataset = load(Path("requests.jsonl"))
    report = await evaluate(dataset, strategy="compact")
    print(report.figure("fraction", 1000))
"""

from germane.evaluate.compare import Comparison, compare
from germane.evaluate.dataset import Conversation, Dataset, Question
from germane.evaluate.formats.load import load
from germane.evaluate.report import Report
from germane.evaluate.run import evaluate

__all__ = ["Comparison", "Conversation", "Dataset", "Question", "Report", "compare", "evaluate", "load"]
