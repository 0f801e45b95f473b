"""Bytes to text."""

from equerry.ports.extraction import UnreadableDocument


def decode(content: bytes) -> str:
    """Return the text; UTF-8 if it is valid, else the most likely encoding.

    Raises:
        UnreadableDocument: the bytes are no text.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _guess(content)
    if "\0" in text:
        raise UnreadableDocument("the file is not text, although its name says so")
    return text


def _guess(content: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(content[:200_000]).best()
    if best is None:
        raise UnreadableDocument("the file is not text in any encoding we know")
    return content.decode(best.encoding, errors="replace")
