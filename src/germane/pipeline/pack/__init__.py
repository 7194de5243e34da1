"""Pack: choose what fits, and say why the rest doesn't. Pure; what an item costs is asked through `cost`."""
