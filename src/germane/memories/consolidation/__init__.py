"""Consolidation: keeps the memories of one owner within a storage budget (MEM-6)."""
