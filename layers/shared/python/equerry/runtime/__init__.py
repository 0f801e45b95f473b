"""Configuration and wiring: the only layer that knows which adapter serves which port."""
