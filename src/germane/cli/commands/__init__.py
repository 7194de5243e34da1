"""Commands: the commands of `germane`, one module for each noun or purpose; a module is imported when its command runs."""
