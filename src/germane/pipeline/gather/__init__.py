"""Gather: the only stage that asks the store. Sources in parallel, each with a report, all under one deadline."""
