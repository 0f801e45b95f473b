"""Untrusted text on its way into a prompt: bounded by a fence that only this turn can write.

The instructions tell the model the turn's nonce and that what stands between the two lines is material,
never an instruction. The nonce is unguessable, and text that merely looks like a fence is escaped as well,
so neither a guess nor a leaked nonce lets the text out.
"""

import re

_NONCE = re.compile(r"[0-9A-Za-z_-]{16,64}")
_KIND = re.compile(r"[a-z][a-z_-]{0,31}")
_LOOKALIKE = re.compile(r"<(\\*\s*/?\s*untrusted)", re.IGNORECASE)
_ESCAPED = re.compile(r"<\\(\\*\s*/?\s*untrusted)", re.IGNORECASE)
_FENCE = re.compile(
    r'<untrusted kind="(?P<kind>[a-z_-]+)" nonce="(?P<nonce>[0-9A-Za-z_-]+)">\n'
    r'(?P<text>.*?)\n</untrusted nonce="(?P=nonce)">',
    re.DOTALL,
)


def fence(text: str, *, kind: str, nonce: str) -> str:
    """Return `text` between this turn's fences.

    Args:
        text: untrusted; a fence inside it is escaped, and `unfence` restores it exactly.
        kind: what it is ("user", "tool_result", "ui_context", "hint"): 1 to 32 of a-z, '_' and '-'.
        nonce: this turn's, 16 to 64 URL-safe characters from a cryptographic source.

    Raises:
        ValueError: a kind or nonce of another form.
    """
    if not _NONCE.fullmatch(nonce):
        raise ValueError("a nonce must be 16 to 64 URL-safe characters")
    if not _KIND.fullmatch(kind):
        raise ValueError(f"a fence's kind must be 1 to 32 of a-z, '_' and '-', got {kind!r}")
    inner = _LOOKALIKE.sub(r"<\\\1", text)
    return f'<untrusted kind="{kind}" nonce="{nonce}">\n{inner}\n</untrusted nonce="{nonce}">'


def unfence(text: str, nonce: str | None = None, *, kind: str | None = None) -> str:
    """Return what was fenced, as `find_fenced` does; text without such a fence comes back as it is."""
    found = find_fenced(text, nonce, kind=kind)
    return text if found is None else found


def find_fenced(text: str, nonce: str | None = None, *, kind: str | None = None) -> str | None:
    """Return what stands in the fences of `text`, joined with a line break; None where there is none.

    Without a `nonce` the first fence's is taken, which is this turn's in any text that we composed. With
    a `kind` only fences of that kind count.
    """
    found = list(_FENCE.finditer(text))
    wanted = nonce or (found[0]["nonce"] if found else "")
    inner = [each["text"] for each in found if each["nonce"] == wanted and kind in (None, each["kind"])]
    return "\n".join(_ESCAPED.sub(r"<\1", part) for part in inner) if inner else None
