"""Commands: one module for each command of `germane`, named as the command is typed."""
