"""Tools: programs that write parts of the project from other parts."""
