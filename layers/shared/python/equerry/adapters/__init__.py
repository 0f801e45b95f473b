"""The only layer that names a vendor: one folder each, behind ports."""
