"""Being here puts this folder on the path of the tests, so that they can import `oracle`. No property has a deadline: how long
an example takes is the machine's matter."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("germane", deadline=None)
settings.load_profile("germane")
