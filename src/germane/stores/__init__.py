"""Stores: the contract of a store, the SQL that stores share, and the embedded store in one SQLite file."""
