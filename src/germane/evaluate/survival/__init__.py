"""Survival: whether constraints and artifacts survive compaction: generated conversations, and scores that read text alone."""

from germane.evaluate.survival.conversations import SurvivalConversation, survival_conversations
from germane.evaluate.survival.expected import ExpectedArtifact, ExpectedConstraint
from germane.evaluate.survival.score import artifact_survival, constraint_survival, lost_artifacts, lost_constraints

__all__ = [
    "ExpectedArtifact",
    "ExpectedConstraint",
    "SurvivalConversation",
    "artifact_survival",
    "constraint_survival",
    "lost_artifacts",
    "lost_constraints",
    "survival_conversations",
]
