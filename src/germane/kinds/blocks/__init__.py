"""Blocks: memory blocks: documents with a schema and a permission that agents edit and the prompt shows."""
