"""Builder: assembles whole requests for a model, from an agent's instructions, blocks, tools, history and memories."""
