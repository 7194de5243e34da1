"""Own: whose words a message has: what is its writer's own, and what was quoted, pasted or handed over."""
