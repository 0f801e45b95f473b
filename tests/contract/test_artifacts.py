"""ArtifactStorePort: over memory and over S3."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from equerry.adapters.aws.artifacts import S3ArtifactStoreAdapter
from equerry.kernel.errors import NotFound, TooLarge
from equerry.kernel.identifiers import ArtifactId, ConversationId, OrganisationId, UserId
from equerry.ports.artifacts import MAX_ARTIFACT_BYTES, ArtifactKey, ArtifactStorePort, artifact_prefix

from tests.contract.aws_backends import BACKENDS, new_name, start_aws
from tests.fakes.artifacts import MemoryArtifactStoreAdapter

KEY = ArtifactKey(
    organisation_id=OrganisationId("acme"),
    user_id=UserId("auth0|ann/ä b"),
    conversation_id=ConversationId("c-1"),
    artifact_id=ArtifactId("a-1"),
)
BODY = '{"refs":["Übersicht 🙂"]}'.encode()


@pytest.fixture(params=["memory", *BACKENDS])
def artifacts(request: pytest.FixtureRequest) -> Iterator[ArtifactStorePort]:
    if request.param == "memory":
        yield MemoryArtifactStoreAdapter()
        return
    with start_aws(request.param) as clients:
        bucket = new_name()
        clients.s3.create_bucket(Bucket=bucket)
        yield S3ArtifactStoreAdapter(clients.s3, bucket)


def test_what_was_stored_comes_back(artifacts: ArtifactStorePort) -> None:
    artifacts.store_artifact(KEY, BODY)

    assert artifacts.fetch_artifact(KEY) == BODY


def test_the_same_key_again_replaces_the_body(artifacts: ArtifactStorePort) -> None:
    artifacts.store_artifact(KEY, BODY)
    artifacts.store_artifact(KEY, b"{}")

    assert artifacts.fetch_artifact(KEY) == b"{}"


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, organisation_id=OrganisationId("globex")),
        replace(KEY, user_id=UserId("auth0|ann")),
        replace(KEY, conversation_id=ConversationId("c-2")),
        replace(KEY, artifact_id=ArtifactId("a-2")),
    ],
)
def test_a_body_is_found_under_its_own_key_alone(artifacts: ArtifactStorePort, other: ArtifactKey) -> None:
    artifacts.store_artifact(KEY, BODY)

    with pytest.raises(NotFound):
        artifacts.fetch_artifact(other)


def test_a_body_no_answer_could_carry_is_refused(artifacts: ArtifactStorePort) -> None:
    artifacts.store_artifact(KEY, b"x" * MAX_ARTIFACT_BYTES)

    with pytest.raises(TooLarge):
        artifacts.store_artifact(KEY, b"x" * (MAX_ARTIFACT_BYTES + 1))

    assert len(artifacts.fetch_artifact(KEY)) == MAX_ARTIFACT_BYTES


def test_a_conversation_s_bodies_go_and_nobody_else_s(artifacts: ArtifactStorePort) -> None:
    here = [replace(KEY, artifact_id=ArtifactId(f"a-{n}")) for n in range(3)]
    elsewhere = [
        replace(KEY, conversation_id=ConversationId("c-10")),
        replace(KEY, user_id=UserId("auth0|ann")),
    ]
    for key in (*here, *elsewhere):
        artifacts.store_artifact(key, BODY)

    for _ in range(2):
        artifacts.delete_artifacts(artifact_prefix(KEY.organisation_id, KEY.user_id, KEY.conversation_id))

    for gone in here:
        with pytest.raises(NotFound):
            artifacts.fetch_artifact(gone)
    assert [artifacts.fetch_artifact(kept) for kept in elsewhere] == [BODY, BODY]


def test_a_prefix_that_could_be_another_s_as_well_is_our_bug(artifacts: ArtifactStorePort) -> None:
    with pytest.raises(ValueError, match="ends in a slash"):
        artifacts.delete_artifacts("artifacts/acme")


def test_no_part_of_a_key_reaches_into_another() -> None:
    assert str(KEY) == "artifacts/acme/auth0%7Cann%2F%C3%A4%20b/c-1/a-1"
    assert artifact_prefix("acme", "ann") == "artifacts/acme/ann/"
    assert not str(KEY).startswith(artifact_prefix("acme", "auth0|ann"))
