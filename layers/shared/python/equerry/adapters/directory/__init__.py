"""The product's directory of organisations, over HTTP."""
