"""The documents pack: two tools over the passages a person may read."""
