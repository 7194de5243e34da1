"""What `germane eval` does and shows: one evaluation or two of them side by side, as tables, JSON and a page."""
