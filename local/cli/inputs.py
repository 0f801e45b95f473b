"""What a person may give the command line, checked before anything is sent."""

import re
from uuid import UUID

import httpx
from equerry.domain.retention import parse_organisation
from equerry.kernel.errors import InvalidInput

from local.errors import BadInput

CORPUS = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
PRINTABLE = re.compile(r"[!-~]+")


def require_text(text: str, *, what: str) -> str:
    """Return the text; raises BadInput if it is no valid UTF-8 and could not be sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{what} is not valid UTF-8", "check the terminal's encoding, or the script") from None
    return text


def require_question(text: str) -> str:
    """Return the question; raises BadInput if there is none, or it could not be sent."""
    if not text.strip():
        raise BadInput("the question is empty", 'equerry ask "What do I want to know?"')
    return require_text(text, what="the question")


def require_corpus(name: str) -> str:
    """Return the corpus's name; raises BadInput unless it is what the server takes."""
    if CORPUS.fullmatch(name) is None:
        raise BadInput(
            f"--corpus {name!a} is no name of a corpus",
            "1 to 63 of a-z, 0-9 and -, the first no hyphen",
        )
    return name


def require_conversation(text: str) -> str:
    """Return a conversation's id as the server writes it; raises BadInput if it is none."""
    try:
        return str(UUID(text))
    except ValueError:
        raise BadInput(
            f"--conversation {text!a} is no id of a conversation",
            "give the conversationId that the API lists: 00000000-0000-0000-0000-000000000000",
        ) from None


def require_identifier(text: str, *, what: str) -> str:
    """Return a person's or an organisation's id; raises BadInput if no token could name it."""
    try:
        return parse_organisation(text)
    except InvalidInput:
        raise BadInput(
            f"{what}: {text!a} is no id", "letters, digits and _ . @ | : + = ~ -, 1 to 128"
        ) from None


def require_url(text: str) -> str:
    """Return a deployment's address; raises BadInput unless it is an absolute http(s) one."""
    remedy = "give it as https://host, or https://host:port"
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise BadInput(f"EQUERRY_URL {text!a} is no address ({error})", remedy) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise BadInput(f"EQUERRY_URL {text!a} is no address of a web server", remedy)
    return text


def require_token(text: str) -> str:
    """Return a bearer token; raises BadInput, without showing it, if it cannot be sent in a header."""
    if PRINTABLE.fullmatch(text) is None:
        raise BadInput(
            "EQUERRY_TOKEN holds a space or a character that is not ASCII", "copy the token again, whole"
        )
    return text
