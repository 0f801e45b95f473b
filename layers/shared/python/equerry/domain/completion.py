"""What another service may ask of a model in one invocation, and how it is told that it may not.

A detail names fields and limits, never what stood in them: it ends up in logs that are not ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from equerry.engine.messages import Block, DocumentBlock, ImageBlock, Message, TextBlock
from equerry.engine.thread import Thread
from equerry.kernel.errors import EquerryError
from equerry.kernel.kinds import message, value

PROTOCOL_VERSION = 1
KIB = 1024
MOST_SYSTEM_BYTES = 128 * KIB
MOST_PROMPT_BYTES = 512 * KIB
MOST_SCHEMA_BYTES = 64 * KIB
MOST_NAME_CHARS = 128
MOST_LABEL_CHARS = 200
MOST_IMAGES = 8
MOST_IMAGE_CHARS = 4 * KIB * KIB
"""Of base64, in one image."""
MOST_IMAGES_CHARS = 9 * KIB * KIB // 2
"""In all images together, which keeps the largest request within what Lambda takes."""
MOST_DOCUMENTS = 20
MOST_URL_CHARS = 4096
MOST_OUTPUT_BYTES = 5 * KIB * KIB

MediaType = Literal["image/png", "image/jpeg", "image/webp"]
PDF = "application/pdf"
EMIT = "emit"
"""The one tool: its arguments are the answer."""
READS_IMAGES = frozenset({"bedrock", "anthropic", "google", "openai", "fixture"})
READS_DOCUMENTS = frozenset({"anthropic"})

CompletionCode = Literal[
    "invalid_request",
    "too_many_images",
    "too_many_documents",
    "document_url_not_allowed",
    "image_too_large",
    "images_too_large",
    "unsupported_media_type",
    "image_input_unsupported",
    "documents_unsupported",
    "completion_failed",
    "disabled",
    "deadline_exceeded",
]
STATUSES: Mapping[CompletionCode, int] = {
    "invalid_request": 400,
    "too_many_images": 400,
    "too_many_documents": 400,
    "document_url_not_allowed": 400,
    "image_too_large": 413,
    "images_too_large": 413,
    "unsupported_media_type": 415,
    "image_input_unsupported": 422,
    "documents_unsupported": 422,
    "completion_failed": 502,
    "disabled": 503,
    "deadline_exceeded": 504,
}


class CompletionRefused(EquerryError):
    """There is no answer; `code` and `status` are what a caller decides by."""

    def __init__(self, code: CompletionCode, detail: str) -> None:
        super().__init__(detail)
        self.code: CompletionCode = code
        self.status = STATUSES[code]


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledImage:
    """A picture, and what it is called in the words before it, if anything."""

    image: ImageBlock
    label: str | None = None


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """One answer is asked for, in the form of `json_schema`; all is checked but the schema itself.

    Attributes:
        organisation_id: for the log alone.
        json_schema: JSON Schema 2020-12 with an object at its root.
        model_profile: the only way to another model; whether there is one of this name is not known yet.
    """

    request_id: str
    workload: str
    organisation_id: str | None
    system: str
    prompt: str
    json_schema: Mapping[str, object]
    schema_name: str
    images: tuple[LabelledImage, ...] = ()
    documents: tuple[DocumentBlock, ...] = ()
    model_profile: str | None = None

    def build_thread(self) -> Thread:
        """Return the one message: documents, then images with their labels, then the prompt."""
        blocks: list[Block] = [*self.documents]
        for number, labelled in enumerate(self.images, start=1):
            if labelled.label:
                blocks.append(TextBlock(f"Image {number}: {labelled.label}"))
            blocks.append(labelled.image)
        return Thread((Message("user", (*blocks, TextBlock(self.prompt))),))

    def find_unsupported(self, provider: str) -> CompletionCode | None:
        """Return why a provider cannot be asked this, if it cannot."""
        if self.documents and provider not in READS_DOCUMENTS:
            return "documents_unsupported"
        if self.images and provider not in READS_IMAGES:
            return "image_input_unsupported"
        return None


def find_media_type(content: bytes) -> MediaType | None:
    """Return what the first bytes say that a picture is."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return None
