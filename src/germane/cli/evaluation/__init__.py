"""Evaluation: the work and the output of `germane eval`: reports, comparisons and fits as tables, JSON and HTML."""
