"""Settings: what TOML files and environment variables set, for the library and for the service."""
