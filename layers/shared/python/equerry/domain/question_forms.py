"""The two forms of question the fast path knows: being taken to a page, and being told how something is done.

Anything longer, of several sentences or in another form is left to the model: a wrong short cut is worse than
a missed one.
"""

import re

from equerry.domain.wording import list_terms, list_words

MAX_WORDS = 14
MAX_CHARS = 160
_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey)\b[\s,!]*)?(?:please\s+|(?:can|could|would|will)\s+you\s+(?:please\s+)?)?",
    re.IGNORECASE,
)
_GO = re.compile(
    r"""^(?:
        (?:go|navigate|jump|switch|head)\s+(?:back\s+)?to
      | (?:take|bring|get|send)\s+me\s+(?:back\s+)?to
      | open(?:\s+up)?
      | show(?:\s+me)?(?=.*\s(?:page|screen)$)
      | where(?:\s+is|\s+are|['’]s|\s+(?:can|do)\s+(?:i|we)\s+(?:find|see))
    )\s+(?P<what>.+)$""",
    re.IGNORECASE | re.VERBOSE,
)
_HOW = re.compile(
    r"""^(?:i\s+(?:want|need)\s+to\s+know\s+|(?:tell|show)\s+me\s+|explain(?:\s+to\s+me)?\s+)?
    (?:
        how\s+(?:do|can|could|should|would|might|does)\s+(?:i|we|you|one|someone|a\s+user|users)
      | how\s+to
      | what(?:\s+is|['’]s)\s+the\s+(?:best\s+)?way\s+to
      | (?:what\s+are\s+the\s+)?steps\s+(?:to|for)
    )\s+(?P<what>.+)$""",
    re.IGNORECASE | re.VERBOSE,
)
_ENDING = re.compile(r"[\s?!.…]+(?:please[\s?!.]*)?$|[\s,]+please[\s?!.]*$", re.IGNORECASE)
_BREAK = re.compile(r"[.?!;:]\s|\n|,|\s[-–—]\s|[\"“”«»]")
_TALK = frozenset(
    [
        "you",
        "your",
        "yours",
        "me",
        "why",
        "because",
        "but",
        "if",
        "when",
        "while",
        "instead",
        "again",
        "also",
        "then",
        "else",
        "not",
        "dont",
        "cant",
        "wont",
        "isnt",
        "without",
        "explain",
        "compare",
        "summarise",
        "summarize",
        "tell",
        "what",
        "which",
        "who",
        "whose",
        "difference",
        "between",
        "versus",
        "vs",
        "again",
        "previous",
        "last",
        "above",
        "same",
        "thing",
        "things",
        "stuff",
        "this",
        "that",
        "it",
    ]
)
"""Words that lean on the conversation, weigh one thing against another, or turn a question round."""
_OWN = frozenset({"my", "our", "his", "her", "their"})


def find_place(question: str) -> str | None:
    """Return what a person wants to be taken to, in their words; None if they ask for something else."""
    plain = _strip(question)
    found = _GO.match(plain) if plain else None
    if found is None:
        return None
    # "my order" is a thing, and not the page of all orders.
    leans = (_TALK | _OWN).intersection(list_words(found["what"]))
    return None if leans else found["what"]


def find_task(question: str) -> str | None:
    """Return what a person wants to be told how to do, in their words; None if it is something else."""
    plain = _strip(question)
    found = _HOW.match(plain) if plain else None
    if found is None or _TALK.intersection(list_words(found["what"])):
        return None
    return found["what"] if list_terms(found["what"]) else None


def _strip(question: str) -> str | None:
    """Return the one short sentence without its manners; None if it is not one short sentence."""
    plain = _ENDING.sub("", question.strip())
    plain = _POLITE.sub("", plain).strip()
    if not plain or len(plain) > MAX_CHARS or len(list_words(plain)) > MAX_WORDS or _BREAK.search(plain):
        return None
    return plain
