"""gRPC: the service on a port, and its clients, whose `assemble` never raises. Translates between the wire and the API."""
