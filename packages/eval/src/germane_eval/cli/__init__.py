"""CLI: the commands `germane eval`, and what they print: reports, comparisons and fits as tables, JSON and HTML."""
