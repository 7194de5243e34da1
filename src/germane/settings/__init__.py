"""Settings: what can be set outside code, from a TOML file and the environment, for the library and for the service."""
