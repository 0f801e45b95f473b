"""Images and documents of a structured completion's payload."""

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Collection
from typing import get_args
from urllib.parse import parse_qs, urlsplit

from equerry.domain import completion as limits
from equerry.domain.completion import (
    CompletionRefused,
    LabelledImage,
    MediaType,
    find_media_type,
)
from equerry.engine.messages import DocumentBlock, ImageBlock
from equerry.surfaces.completion_reading import fields_of, invalid, read_list, read_string

_MEDIA_TYPES: tuple[MediaType, ...] = get_args(MediaType)
_VISIBLE = re.compile(r"[!-\[\]-~]+")
"""ASCII without white space, controls and the backslash."""


def read_images(entry: object) -> tuple[LabelledImage, ...]:
    """Return the images in their order.

    Raises:
        CompletionRefused: too many or too large, of another type than they say, or no base64.
    """
    given = read_list(entry, "images")
    if len(given) > limits.MOST_IMAGES:
        raise CompletionRefused(
            "too_many_images", f"there may be {limits.MOST_IMAGES} images, got {len(given)}"
        )
    read = [_read_image(image, f"images[{place}]") for place, image in enumerate(given)]
    if (total := sum(len(data) for _, data, _ in read)) > limits.MOST_IMAGES_CHARS:
        most = limits.MOST_IMAGES_CHARS
        raise CompletionRefused(
            "images_too_large", f"all images may have {most} characters of base64 together, got {total}"
        )
    return tuple(
        LabelledImage(image=_decode_image(media_type, data, f"images[{place}]"), label=label)
        for place, (media_type, data, label) in enumerate(read)
    )


def read_documents(entry: object, *, hosts: Collection[str]) -> tuple[DocumentBlock, ...]:
    """Return the documents in their order; nothing is fetched.

    Raises:
        CompletionRefused: too many, no PDF, or an address that is not a presigned one on `hosts`.
    """
    given = read_list(entry, "documents")
    if len(given) > limits.MOST_DOCUMENTS:
        raise CompletionRefused(
            "too_many_documents", f"there may be {limits.MOST_DOCUMENTS} documents, got {len(given)}"
        )
    return tuple(_read_document(document, f"documents[{at}]", hosts) for at, document in enumerate(given))


def _is_document_url(url: str, hosts: Collection[str]) -> bool:
    """Whether it is a presigned https address of S3 on one of `hosts`, and nothing in it misleads."""
    if len(url) > limits.MOST_URL_CHARS or not _VISIBLE.fullmatch(url) or not url.startswith("https://"):
        return False
    try:
        parts = urlsplit(url)
        signed = parse_qs(parts.query, strict_parsing=True, max_num_fields=40)
    except ValueError:
        return False
    # The whole authority is compared, so that no user, port or trailing dot can stand in it.
    if "#" in url or parts.netloc not in hosts:
        return False
    return all(len(signed.get(name, ())) == 1 for name in ("X-Amz-Signature", "X-Amz-Expires"))


def _read_image(entry: object, name: str) -> tuple[MediaType, str, str | None]:
    image = fields_of(entry, ("type", "mediaType", "data", "label"), optional={"label"}, what=name)
    if image["type"] != "image":
        raise invalid(f"{name}.type must be 'image'")
    media_type = read_string(image["mediaType"], f"{name}.mediaType")
    found = next((known for known in _MEDIA_TYPES if known == media_type), None)
    if found is None:
        raise _unsupported(f"{name}.mediaType must be one of {', '.join(_MEDIA_TYPES)}")
    data = read_string(image["data"], f"{name}.data")
    if len(data) > limits.MOST_IMAGE_CHARS:
        most = limits.MOST_IMAGE_CHARS
        raise CompletionRefused(
            "image_too_large", f"{name}.data may have {most} characters of base64, got {len(data)}"
        )
    return found, data, _read_label(image.get("label"), f"{name}.label")


def _decode_image(media_type: MediaType, data: str, name: str) -> ImageBlock:
    try:
        content = a2b_base64(data, strict_mode=True)
    except (NotBase64, ValueError):
        raise invalid(f"{name}.data must be padded standard base64 and nothing else") from None
    if find_media_type(content) != media_type:
        raise _unsupported(f"the bytes of {name} are not what its mediaType says")
    return ImageBlock(media_type=media_type, content=content)


def _read_document(entry: object, name: str, hosts: Collection[str]) -> DocumentBlock:
    document = fields_of(entry, ("url", "mediaType", "title"), optional={"title"}, what=name)
    if read_string(document["mediaType"], f"{name}.mediaType") != limits.PDF:
        raise _unsupported(f"{name}.mediaType must be {limits.PDF}")
    url = read_string(document["url"], f"{name}.url")
    if not _is_document_url(url, hosts):
        raise CompletionRefused(
            "document_url_not_allowed",
            f"{name}.url must be a presigned https address of S3 on an allowed host,"
            f" of at most {limits.MOST_URL_CHARS} characters",
        )
    return DocumentBlock(url=url, title=_read_label(document.get("title"), f"{name}.title"))


def _read_label(entry: object, name: str) -> str | None:
    return read_string(entry, name, most=limits.MOST_LABEL_CHARS) or None if entry is not None else None


def _unsupported(detail: str) -> CompletionRefused:
    return CompletionRefused("unsupported_media_type", detail)
