"""Server-driven delivery, free of any transport."""
