"""Clients: the settings files of coding agents: what germane writes into them, and how it is taken out again."""
