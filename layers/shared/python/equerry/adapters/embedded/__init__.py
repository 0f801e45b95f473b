"""Adapters over embedded."""
