"""Who reads a document's passages when its readers change, with and without new content."""

import pytest
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound

from tests.contract.corpora import (
    HANDBOOK,
    PIPELINE,
    STORES,
    Library,
    build_file,
    build_publication,
    open_library,
    publish,
)
from tests.contract.databases import build_scope, new_organisation


@pytest.fixture(params=STORES)
def library(request: pytest.FixtureRequest) -> Library:
    """The store, in memory and in PostgreSQL."""
    return open_library(request)


@pytest.fixture
def admin() -> Scope:
    """An administrator of a fresh organisation."""
    return build_scope(new_organisation(), "root", role="admin")


def member_of(admin: Scope, user: str = "ada", *, projects: tuple[str, ...] = ()) -> Scope:
    return build_scope(admin.organisation_id, user, projects=projects)


@pytest.mark.req("F-RPERM-07", "F-IDX-08")
def test_a_lost_permission_takes_effect_with_the_announcement(library: Library, admin: Scope) -> None:
    publish(library, admin, "a.md", "plan of the merger", visible_to=("project:apollo", "user:ben"))
    insider, ben = member_of(admin, projects=("apollo",)), member_of(admin, "ben")
    cited = library.list_readable(insider)[0].passage_id
    assert library.read_texts(ben) == ["plan of the merger"]

    only_ben = build_file("a.md", "plan of the merger", visible_to=("user:ben",))
    (announced,) = library.documents.announce(admin, HANDBOOK, [only_ben], pipeline_version=PIPELINE)

    assert not announced.changed
    assert library.read_texts(insider) == []
    assert library.search_texts(insider, "merger") == []
    with pytest.raises(NotFound):
        library.passages.fetch_passage(insider, cited)
    assert library.read_texts(ben) == ["plan of the merger"]


def test_a_permission_change_comes_before_the_new_content(library: Library, admin: Scope) -> None:
    publish(library, admin, "a.md", "old text")

    changed = build_file("a.md", "new text", visible_to=("user:ben",))
    library.documents.announce(admin, HANDBOOK, [changed], pipeline_version=PIPELINE)

    assert library.read_texts(member_of(admin)) == []
    assert library.read_texts(member_of(admin, "ben")) == ["old text"]


@pytest.mark.req("F-RPERM-07")
def test_new_readers_of_new_content_never_see_the_old(library: Library, admin: Scope) -> None:
    ada, ben = member_of(admin), member_of(admin, "ben")
    identity = publish(library, admin, "p.md", "salaries\nholidays", visible_to=("user:ada",))
    old = {passage.text: passage.passage_id for passage in library.list_readable(ada)}

    opened = build_file("p.md", "holidays")
    library.documents.announce(admin, HANDBOOK, [opened], pipeline_version=PIPELINE)

    assert library.read_texts(ben) == []
    assert library.search_texts(ben, "salaries holidays") == []
    for passage_id in old.values():
        with pytest.raises(NotFound):
            library.passages.fetch_passage(ben, passage_id)
    assert library.read_texts(ada) == ["holidays", "salaries"]

    library.documents.publish(admin.organisation_id, build_publication(identity, "holidays"))
    library.documents.announce(admin, HANDBOOK, [opened], pipeline_version=PIPELINE)

    assert library.read_texts(ben) == ["holidays"]
    assert library.passages.fetch_passage(ben, old["holidays"]).text == "holidays"
    assert library.passages.fetch_passage(ada, old["salaries"]).text == "salaries"
    with pytest.raises(NotFound):
        library.passages.fetch_passage(ben, old["salaries"])


def test_new_readers_of_the_published_content_see_it_at_once_but_not_what_it_replaced(
    library: Library, admin: Scope
) -> None:
    ada, ben = member_of(admin), member_of(admin, "ben")
    publish(library, admin, "p.md", "draft", visible_to=("user:ada",))
    draft = library.list_readable(ada)[0].passage_id
    publish(library, admin, "p.md", "final", visible_to=("user:ada",))

    library.documents.announce(admin, HANDBOOK, [build_file("p.md", "final")], pipeline_version=PIPELINE)

    assert library.read_texts(ben) == ["final"]
    assert library.passages.fetch_passage(ada, draft).text == "draft"
    with pytest.raises(NotFound):
        library.passages.fetch_passage(ben, draft)


def test_a_lost_permission_reaches_superseded_passages_for_good(library: Library, admin: Scope) -> None:
    ben = member_of(admin, "ben")
    publish(library, admin, "p.md", "draft")
    draft = library.list_readable(ben)[0].passage_id
    publish(library, admin, "p.md", "final")

    for readers in (("user:ada",), ("organisation",)):
        changed = build_file("p.md", "final", visible_to=readers)
        library.documents.announce(admin, HANDBOOK, [changed], pipeline_version=PIPELINE)

        with pytest.raises(NotFound):
            library.passages.fetch_passage(ben, draft)
    assert library.read_texts(ben) == ["final"]


def test_old_content_whose_readers_are_all_replaced_is_read_by_nobody_until_it_is_announced_again(
    library: Library, admin: Scope
) -> None:
    people = [member_of(admin, "ada", projects=("apollo",)), member_of(admin, "ben"), admin]
    publish(library, admin, "p.md", "old", visible_to=("user:ada",))

    changed = build_file("p.md", "new", visible_to=("project:apollo", "user:ben"))
    library.documents.announce(admin, HANDBOOK, [changed], pipeline_version=PIPELINE)
    assert [library.read_texts(person) for person in people] == [[], [], []]
    library.documents.announce(admin, HANDBOOK, [build_file("p.md", "new")], pipeline_version=PIPELINE)
    assert [library.read_texts(person) for person in people] == [[], [], []]
    library.documents.announce(admin, HANDBOOK, [build_file("p.md", "old")], pipeline_version=PIPELINE)

    assert [library.read_texts(person) for person in people] == [["old"], ["old"], ["old"]]
