"""Adapters over the file system."""
