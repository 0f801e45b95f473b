"""Use cases, over ports."""
