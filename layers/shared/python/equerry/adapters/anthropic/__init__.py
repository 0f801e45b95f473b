"""Adapters over anthropic."""
