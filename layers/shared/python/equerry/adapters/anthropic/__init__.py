"""The Messages API of Anthropic, through its SDK."""
