"""The assistant platform: one layer, imports only ever point down."""
