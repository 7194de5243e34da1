"""gRPC: the engine behind a port, and a client that never fails. A surface: translates in, calls the front, translates out."""
