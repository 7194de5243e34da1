"""Remote: a `Germane` in another process: what its clients share over gRPC and HTTP, and the client over HTTP."""
