"""gRPC server: the service's RPCs on a port: who is let in, how a call runs, and a servicer for each service."""
