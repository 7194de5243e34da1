"""Need: turns that nothing stored helps with, and what germane adds to them (NEED-1)."""
