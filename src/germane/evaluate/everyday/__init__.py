"""Everyday: a person's requests as turns of conversations: what each is shown, what stands, and what it should do without."""
