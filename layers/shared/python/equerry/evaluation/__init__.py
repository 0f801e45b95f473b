"""Measures of retrieval and answers."""
