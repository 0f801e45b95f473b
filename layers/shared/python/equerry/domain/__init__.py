"""Entities and policies of the product; no input, no output."""
