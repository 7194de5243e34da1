"""Search: evidence for a query over the units of a partition. Pure arithmetic over numpy arrays; stores load the rows."""
