"""Events: what was said and done, kept verbatim in sessions, and the rules by which a conversation is recorded."""
