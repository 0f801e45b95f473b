"""Writes the files that are made from the code: the client's types and the API's contract."""
