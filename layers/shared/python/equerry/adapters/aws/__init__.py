"""Adapters over aws."""
