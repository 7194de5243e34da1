"""Http: whether the service lives, whether it is ready, and its metrics."""
