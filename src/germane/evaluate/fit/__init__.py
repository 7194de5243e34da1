"""Fit: the coefficients of the relevance model from questions whose answers are known (SCORE-2)."""
