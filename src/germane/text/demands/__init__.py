"""Demands: what asks for something lastingly, forbids or limits, by rules that are data."""
