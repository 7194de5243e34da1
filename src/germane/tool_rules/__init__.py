"""Rules: what an agent's tools may do in a turn: told in the prompt, and enforced for each call."""
