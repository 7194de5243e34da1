"""Documents: what turns files into passages with a title and a place, and keeps them as sessions of their own."""
