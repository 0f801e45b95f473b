"""The model-and-tools loop, free of any vendor."""
