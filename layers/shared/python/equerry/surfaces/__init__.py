"""Wire forms: events decoded, answers encoded, failures given a status."""
