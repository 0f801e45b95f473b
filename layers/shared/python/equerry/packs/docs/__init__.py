"""Tools over the documents a person may read."""
