"""Workers: what runs beside the calls of one process, and what the calls of one process share."""
