"""Days: finds the days that a text names, in a dozen languages (SCOPE-4, PERSON-5)."""
