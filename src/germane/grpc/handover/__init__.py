"""Handover: a worker of the service that is busy lets a less busy one answer an assembly, whatever connection it came on."""
