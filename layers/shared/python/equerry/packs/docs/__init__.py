"""Retrieval as tools: one tool for each shape of query."""
