"""Vectors in the text form that pgvector reads and writes."""

from equerry.ports.embedding import Vector


def format_vector(vector: Vector) -> str:
    """Write a vector; seven significant digits are all a 4-byte float holds."""
    return "[" + ",".join(f"{number:.8g}" for number in vector) + "]"


def parse_vector(text: str) -> Vector:
    """Read a vector."""
    return tuple(float(number) for number in text[1:-1].split(","))
