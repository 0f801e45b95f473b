"""The Codex command line of this machine, `codex exec --json`, for conversations at a developer's desk."""
