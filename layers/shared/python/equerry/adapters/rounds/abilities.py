"""What a provider's models are asked for through here; what one of its models cannot, it refuses itself."""

from dataclasses import dataclass
from typing import Literal

from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What an adapter speaks of its provider's wire.

    Attributes:
        images: pictures in a message; otherwise refused before anything is sent, and so are documents.
        documents: PDFs by their address.
        caching: how a prefix is kept: `marks` that we set, a `key` that keeps its requests together, or
            `automatic`, by the provider alone.
        reasoning: a level of it is passed on.
        forced_tool: how one tool is made sure of: a `call` that the provider forces, `strict` where it also
            promises the schema, `json` in place of a call, or `asked` for in words.
        streamed: words come as they are written; otherwise at once.
    """

    images: bool
    documents: bool
    caching: Literal["marks", "key", "automatic"]
    reasoning: bool
    forced_tool: Literal["call", "strict", "json", "asked"]
    streamed: bool
