"""Bytes to text."""

import codecs
import re
from typing import Final

from equerry.ports.extraction import UnreadableDocument

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16, whose mark the little-endian one begins with.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_MOST_BAD: Final = 0.01
"""Share of the bytes that may be no UTF-8 in a file of UTF-8."""
_SAMPLE: Final = 200_000
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_ACCENTED: Final = "À-ÖØ-öø-ÿŒœŠšŽžŸ"
_LETTERS: Final = re.compile(f"[A-Za-z{_ACCENTED}]")
_ACCENTS: Final = re.compile(f"[{_ACCENTED}]")
# What text of another code page shows when it is read as Windows-1252.
_FOREIGN: Final = re.compile(
    # Icelandic's and the loan words' letters, which stand for everyday ones in Turkish, Czech or Romanian;
    # and õ outside "õe", where Hungarian has it for ő.
    "[ÐðÝýÞþŠšŽž]|õ(?!e)"
    # A sign inside a word, or a superscript in front of one.
    f"|(?<=[A-Za-z{_ACCENTED}])[¡-¬®-¶¸-¿×÷‚ƒ„…†‡ˆ‰‹“”•˜™›€](?=[A-Za-z{_ACCENTED}])|[¹²³](?=[a-z])"
    # A capital inside a word, or no plain letter for long.
    f"|(?<=[a-zà-öø-ÿœ])[À-ÖØ-ÞŒŸ]|[{_ACCENTED}]{{3}}"
)
_MOST_FOREIGN: Final = 0.05
_MOST_ACCENTS: Final = 0.35


def decode(content: bytes) -> str:
    """Return the text: as its byte order mark says, else UTF-8, else the most likely encoding.

    A file of UTF-8 with a few bad bytes loses those alone, each to U+FFFD.

    Raises:
        UnreadableDocument: the bytes are no text.
    """
    text = _read_marked(content)
    if text is None:
        text = _read_utf8(content)
    if text is None:
        text = _read_western(content)
    if text is None:
        text = _guess(content)
    if "\0" in text:
        raise UnreadableDocument("the file is not text, although its name says so")
    return text


def _read_marked(content: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.removeprefix(mark).decode(encoding, errors="replace")
    return None


def _read_utf8(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        pass
    try:
        # Some programs write a character outside the basic plane as two surrogates.
        return _join_surrogates(content.decode(errors="surrogatepass"))
    except UnicodeDecodeError:
        text = content.decode(errors="replace")
    bad = text.count(_REPLACEMENT)
    # In a code page's text, too, nearly all bytes may be ASCII: what else there is must mostly be UTF-8.
    others = len(re.findall(r"[^\x00-\x7f]", text)) - bad
    return text if bad <= _MOST_BAD * len(content) and bad < others else None


def _join_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _read_western(content: bytes) -> str | None:
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        return None
    sample = text[:_SAMPLE]
    if _CONTROLS.search(sample):
        return None
    accents, letters = len(_ACCENTS.findall(sample)), len(_LETTERS.findall(sample))
    foreign = len(_FOREIGN.findall(sample))
    is_western = foreign <= _MOST_FOREIGN * accents and accents <= _MOST_ACCENTS * letters
    return text if is_western else None


def _guess(content: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(content[:_SAMPLE]).best()
    if best is None:
        raise UnreadableDocument("the file is not text in any encoding we know")
    return content.decode(best.encoding, errors="replace")
