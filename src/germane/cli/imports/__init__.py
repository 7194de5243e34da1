"""Imports: files of conversations, read into (session, message) pairs. Pure: bytes in, rows out, nothing is stored here.

`detect` recognises a format, one module reads each. Every reader yields rows (`row.py`), goes on after a broken one, and
gives a message without an id one that is the same whenever the same file is read.
"""

from germane.cli.imports.detect import FORMATS, read
from germane.cli.imports.row import Broken, Directed, Remembered, Row, Shared, Turn

__all__ = ["FORMATS", "Broken", "Directed", "Remembered", "Row", "Shared", "Turn", "read"]
