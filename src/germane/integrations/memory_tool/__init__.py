"""Memory tool: the file commands with which a model keeps its own memory, over the blocks of an agent."""
