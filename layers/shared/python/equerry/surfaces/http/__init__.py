"""The HTTP API: one registry of routes, from which requests are served and the contract is written."""
