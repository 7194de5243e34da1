"""Serve: the processes of `germane serve`, from opening the database to the last answer."""
