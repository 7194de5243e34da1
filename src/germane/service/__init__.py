"""Service: the processes of `germane serve`, from opening the database to the last answer, with HTTP port and reports."""
