"""Tools: programs that write source files of the project from others."""
