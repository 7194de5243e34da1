"""Transfer: exports of stored data as lines, and the plans that restore them as they were."""
