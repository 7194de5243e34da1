"""Commands: one module for each command of `germane`, named as the command is typed.

`import` is a keyword of Python: `germane import` is in `import_files`.
"""
