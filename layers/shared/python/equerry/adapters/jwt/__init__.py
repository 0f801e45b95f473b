"""The identity verifier: EdDSA tokens against an issuer's published keys."""
