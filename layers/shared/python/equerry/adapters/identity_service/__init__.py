"""The product's identity service, over HTTP."""
