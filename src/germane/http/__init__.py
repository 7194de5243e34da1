"""Http: the HTTP port for liveness, readiness and metrics."""
