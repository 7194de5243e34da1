"""Fit: fits the coefficients of the relevance model to questions with labelled evidence, or to feedback (SCORE-2)."""
