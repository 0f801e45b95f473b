"""Text out of files, one module a format."""
