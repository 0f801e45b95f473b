"""The WebSocket's frames, decoded."""
