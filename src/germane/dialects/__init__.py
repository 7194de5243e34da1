"""Dialects: the providers' message shapes, one file each. `registry` finds the one a name or a message means."""
