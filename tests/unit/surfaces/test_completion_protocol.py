"""The protocol of structured completions: what is taken, and the code of what is not."""

from base64 import b64encode
from typing import Any

import pytest
from equerry.domain.completion import CompletionRefused, CompletionRequest
from equerry.engine.messages import DocumentBlock, ImageBlock, TextBlock
from equerry.surfaces.completion import decode_request

from tests.completions import (
    HOST,
    JPEG,
    PNG,
    REQUEST_ID,
    URL,
    WEBP,
    document,
    image,
    payload,
)

KIB = 1024
SECRET = "the-merger-is-on-friday"
GONE: Any = ...
NO_SYSTEM: tuple[Any, ...] = (3, None, "\ud800", GONE)
NO_SCHEMA: tuple[Any, ...] = ([], "{}", {"type": "array"}, {"a": float("nan")}, GONE)
NO_IMAGES: tuple[Any, ...] = ([], {}, None, "x", [3])
NO_DOCUMENTS: tuple[Any, ...] = ([], {}, None, [URL])


def decode(event: object) -> CompletionRequest:
    return decode_request(event, hosts={HOST})


def refusal(event: object) -> CompletionRefused:
    with pytest.raises(CompletionRefused) as caught:
        decode(event)
    return caught.value


@pytest.mark.req("A-SCRQ-03", "A-SCRQ-05")
def test_a_whole_request_is_read() -> None:
    organisation = "11111111-2222-3333-4444-555555555555"
    request = decode(
        payload(organisationId=organisation, images=[image(label="Plan")], documents=[document()])
    )

    assert (request.request_id, request.workload) == (REQUEST_ID, "weather:daily")
    assert (request.organisation_id, request.schema_name) == (organisation, "Weather")
    assert request.images[0].image.content == PNG
    assert request.documents[0].url == URL
    assert decode(payload(organisationId=...)).organisation_id is None


@pytest.mark.req(
    *("A-SCRQ-01", "A-SCRQ-02", "A-SCRQ-03", "A-SCRQ-04", "A-SCRQ-05", "A-SCRQ-08", "A-SCRQ-09"),
    *("A-SCRQ-10", "A-SCRQ-11", "A-SCRQ-14", "A-SCRS-15", "A-SCIM-01", "A-SCIM-03"),
)
@pytest.mark.parametrize(
    "event",
    [
        *(None, [], SECRET, {}),
        *(payload(protocolVersion=version) for version in (2, "1", True, None, GONE)),
        *(payload(requestId=said) for said in (SECRET, "", 3, REQUEST_ID + "0", GONE)),
        *(payload(workload=said) for said in ("", ".a", "a b", "a/b", "a" * 129, "ä", 3, GONE)),
        payload(organisationId=SECRET),
        payload(organisationId=3),
        *(payload(system=said) for said in NO_SYSTEM),
        *(payload(prompt=said) for said in ("", " \n", 3, GONE)),
        *(payload(jsonSchema=said) for said in NO_SCHEMA),
        *(payload(schemaName=said) for said in ("", "a b", "x" * 129, GONE)),
        payload(modelProfile=3),
        payload(modelProfile=None),
        *(payload(images=said) for said in NO_IMAGES),
        *(payload(documents=said) for said in NO_DOCUMENTS),
        *(
            payload(**{name: SECRET})
            for name in ("stream", "tools", "provider", "model", "temperature", SECRET)
        ),
        payload(images=[image(type="picture")]),
        payload(images=[image(type=...)]),
        payload(images=[image(extra=1)]),
        payload(images=[image(label="x" * 201)]),
        payload(images=[image(label=3)]),
        *(
            payload(images=[image(data=data)])
            for data in (
                *("", SECRET, "iVBORw0KGgo", "data:image/png;base64," + b64encode(PNG).decode()),
                *("iVBO Rw0KGgo=", "iVBORw0KGgo=\n", "iVBORw0KGgo=iVBORw0KGgo=", "iVBORw0KGg-_", 3, None),
            )
            if data != ""
        ),
        payload(documents=[document(title="x" * 201)]),
        payload(documents=[document(type="document")]),
    ],
)
def test_what_is_malformed_is_refused_and_never_repeated(event: object) -> None:
    refused = refusal(event)

    assert (refused.status, refused.code) == (400, "invalid_request")
    assert SECRET not in str(refused)
    assert "iVBO" not in str(refused)


@pytest.mark.req("A-SCRQ-06", "A-SCRQ-07", "A-SCRQ-08")
@pytest.mark.parametrize(("field", "most"), [("system", 128 * KIB), ("prompt", 512 * KIB)])
def test_limits_of_words_are_in_bytes_of_utf_8(field: str, most: int) -> None:
    assert len(getattr(decode(payload(**{field: "é" * (most // 2)})), field)) == most // 2

    assert refusal(payload(**{field: "é" * (most // 2) + "x"})).code == "invalid_request"


@pytest.mark.req("A-SCRQ-08")
def test_the_schemas_limit_is_in_bytes_as_it_would_be_sent() -> None:
    def schema(size: int) -> dict[str, Any]:
        return {"title": "x" * (size - len('{"title":""}'))}

    assert decode(payload(jsonSchema=schema(64 * KIB))).json_schema == schema(64 * KIB)
    assert refusal(payload(jsonSchema=schema(64 * KIB + 1))).code == "invalid_request"


@pytest.mark.req("A-SCIM-01")
@pytest.mark.parametrize("kind", ["Image", "image_url", "picture", "", None, 1, ["image"], ...])
def test_an_image_says_that_it_is_one(kind: object) -> None:
    assert len(decode(payload(images=[image(type="image")])).images) == 1

    given = {name: held for name, held in image(type=kind).items() if held is not ...}
    assert refusal(payload(images=[given])).code == "invalid_request"


@pytest.mark.req("A-SCIM-02", "A-SCRS-19")
@pytest.mark.parametrize(
    ("content", "media_type"), [(PNG, "image/png"), (JPEG, "image/jpeg"), (WEBP, "image/webp")]
)
def test_an_image_is_what_its_first_bytes_say(content: bytes, media_type: str) -> None:
    (labelled,) = decode(payload(images=[image(content, media_type)])).images
    assert labelled.image == ImageBlock(media_type=media_type, content=content)  # type: ignore[arg-type]

    for other in {"image/png", "image/jpeg", "image/webp", "image/gif", "IMAGE/PNG", "text/html"} - {
        media_type
    }:
        refused = refusal(payload(images=[image(content, other)]))
        assert (refused.status, refused.code) == (415, "unsupported_media_type")


@pytest.mark.req("A-SCIM-03", "A-SCIM-06", "A-SCRS-16", "A-SCRS-17", "A-SCRS-18", "A-SCRQ-10")
def test_images_are_limited_in_number_and_in_characters() -> None:
    def of(characters: int) -> dict[str, Any]:
        return image(PNG + b"\0" * (characters // 4 * 3 - len(PNG)))

    most, all_of_them = 4 * KIB * KIB, 9 * KIB * KIB // 2

    assert len(decode(payload(images=[of(most), of(all_of_them - most)])).images) == 2
    assert len(decode(payload(images=[image()] * 8)).images) == 8
    assert refusal(payload(images=[image()] * 9)).code == "too_many_images"
    one, many = (
        refusal(payload(images=[of(most + 4)])),
        refusal(payload(images=[of(most), of(most // 8 + 4)])),
    )
    assert (one.status, one.code) == (413, "image_too_large")
    assert (many.status, many.code) == (413, "images_too_large")


@pytest.mark.req("A-SCDO-01", "A-SCDO-03", "A-SCDO-04", "A-SCRQ-11", "A-SCRS-19", "A-SCRS-21")
def test_documents_are_pdfs_and_limited_in_number() -> None:
    titled = decode(payload(documents=[document(title="Plan")] * 20)).documents

    assert titled == (DocumentBlock(url=URL, title="Plan"),) * 20
    assert refusal(payload(documents=[document()] * 21)).code == "too_many_documents"
    assert refusal(payload(documents=[document(mediaType="text/html")])).status == 415


@pytest.mark.req("A-SCDO-02", "A-SCDO-08", "A-SCDO-10", "A-SCRS-22")
@pytest.mark.parametrize(
    "url",
    [
        URL.replace("https", "http"),
        URL.replace("https", "HTTPS"),
        URL.replace(HOST, "other.s3.eu-central-1.amazonaws.com"),
        URL.replace(HOST, HOST + ".evil.example"),
        URL.replace(HOST, HOST + "."),
        URL.replace(HOST, f"user:{SECRET}@{HOST}"),
        URL.replace(HOST, f"@{HOST}"),
        URL.replace(HOST, HOST + ":443"),
        URL.replace(HOST, HOST + ":"),
        URL + "#page",
        URL + "#",
        URL.replace("plan", "the plan"),
        URL.replace("plan", "the\\plan"),
        URL.replace("plan", "the\tplan"),
        " " + URL,
        URL.replace("plan", "plän"),
        URL.replace("X-Amz-Signature", "X-Amz-Signed"),
        URL.replace("X-Amz-Expires", "x-amz-expires"),
        URL.replace("Signature=5ec7e7", "Signature="),
        URL + "&X-Amz-Signature=other",
        URL.partition("?")[0],
        "https://[::1",
        URL + "&x=" + "y" * (4097 - len(URL) - 3),
        "",
    ],
)
def test_a_document_is_at_a_presigned_address_on_an_allowed_host(url: str) -> None:
    refused = refusal(payload(documents=[document(url)]))

    assert (refused.status, refused.code) == (400, "document_url_not_allowed")
    assert "amazonaws" not in str(refused)
    assert SECRET not in str(refused)


@pytest.mark.req("A-SCDO-08", "A-SCDO-02")
def test_the_longest_address_is_taken_and_without_hosts_none_is() -> None:
    longest = URL + "&x=" + "y" * (4096 - len(URL) - 3)

    assert decode(payload(documents=[document(longest)])).documents[0].url == longest
    with pytest.raises(CompletionRefused, match="allowed host"):
        decode_request(payload(documents=[document()]), hosts=())


@pytest.mark.req("A-SCIM-04", "A-SCIM-05", "A-SCDO-06", "A-SCDO-04")
def test_the_message_has_documents_then_images_then_the_prompt() -> None:
    request = decode(
        payload(
            images=[image(), image(JPEG, "image/jpeg", label="North side")],
            documents=[document(title="Plan"), document()],
        )
    )

    (message,) = request.build_thread().messages
    assert message.role == "user"
    assert message.blocks == (
        DocumentBlock(url=URL, title="Plan"),
        DocumentBlock(url=URL),
        ImageBlock(media_type="image/png", content=PNG),
        TextBlock("Image 2: North side"),
        ImageBlock(media_type="image/jpeg", content=JPEG),
        TextBlock("How warm is it in Bremen?"),
    )


@pytest.mark.req("A-SCDO-12", "A-SCIM-07")
def test_who_reads_what() -> None:
    pictured, documented = decode(payload(images=[image()])), decode(payload(documents=[document()]))

    for provider in ("bedrock", "anthropic", "google", "openai"):
        assert pictured.find_unsupported(provider) is None
    assert pictured.find_unsupported("codex") == "image_input_unsupported"
    assert documented.find_unsupported("anthropic") is None
    for provider in ("bedrock", "google", "openai", "codex", "fixture"):
        assert documented.find_unsupported(provider) == "documents_unsupported"
