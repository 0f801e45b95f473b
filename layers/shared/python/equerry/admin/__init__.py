"""What an operator sees of the runs."""
