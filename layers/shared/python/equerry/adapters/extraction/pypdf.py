"""PDF through pypdf: each page is a section."""

import re
import struct
import zlib
from io import BytesIO

from equerry.adapters.extraction.outline import Extracted, Outline
from equerry.ports.extraction import UnreadableDocument

_HYPHEN = re.compile(r"(?<=[a-z])-\n(?=[a-z])")
_WRAP = re.compile(r"(?<!\n)\n(?!\n)")


def read_pdf(content: bytes, *, path: str) -> Extracted:
    """Read a PDF; UnreadableDocument if it is encrypted, broken or has pictures only."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    # What pypdf meets in a broken file it does not always call by its own errors.
    broken = (
        *(PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, OSError),
        *(ArithmeticError, NotImplementedError, AssertionError, zlib.error, struct.error),
    )
    outline = Outline(path)
    try:
        reader = PdfReader(BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableDocument("the PDF is protected by a password")
        for number, page in enumerate(reader.pages, start=1):
            outline.open_section(1, f"Page {number}")
            outline.add_block(_WRAP.sub(" ", _HYPHEN.sub("", page.extract_text())))
        title = reader.metadata.title if reader.metadata else None
    except broken as error:
        raise UnreadableDocument("the PDF is damaged and cannot be read") from error
    return outline.finish(title=title or path.rpartition("/")[2].removesuffix(".pdf"))
