"""Profile: what always holds about a person, as short lines: what they asked for lastingly, and what is so about them
(PERSON-1)."""
