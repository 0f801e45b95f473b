"""Primitives that every layer may use; imports nothing of ours."""
