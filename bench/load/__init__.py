"""Many conversations at once, on the local stack."""
