"""What all model providers' adapters share: attempts, deadlines, silence, and reading with suspicion."""
