"""Catalog: what is known of each model, and what a request costs in its tokens. No network; settings add and override."""
