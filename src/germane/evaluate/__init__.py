"""Evaluate: measures recall, token use and latency on labelled conversations, without an LLM (EVAL-1).

It opens a `Germane` as a user would, records the conversations, asks their questions, and measures which evidence each context
holds. `fit` fits the relevance model to such conversations. No package below the command line imports this one.

    from germane.evaluate import compare, evaluate, load

    dataset = load(Path("requests.jsonl"))
    report = await evaluate(dataset, strategy="compact")
    print(report.figure("fraction", 1000))
"""

from germane.evaluate.compare import compare
from germane.evaluate.comparison import Comparison
from germane.evaluate.dataset import Conversation, Dataset, Question
from germane.evaluate.formats.load import load
from germane.evaluate.report import Report
from germane.evaluate.run import evaluate

__all__ = ["Comparison", "Conversation", "Dataset", "Question", "Report", "compare", "evaluate", "load"]
