"""Adapters over postgres."""
