"""Evaluate: how good, how fast, without an LLM (EVAL-1). Beside the front: it opens a germane as a user would, puts labelled
conversations into it, asks, and looks at what came back. It also fits the relevance model. Nothing below knows of it."""
