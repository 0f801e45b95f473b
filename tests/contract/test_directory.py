"""DirectoryPort: a person's projects, from the product, from their token, and not for longer than seconds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from equerry.adapters.directory.projects import MAX_BYTES, WHOLE_S, HttpDirectoryAdapter
from equerry.adapters.directory.recent import KEPT_S, MOST, RecentDirectoryAdapter
from equerry.adapters.jwt.directory import TokenDirectoryAdapter
from equerry.domain.principal import Scope
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId, ProjectId
from equerry.ports.directory import DirectoryPort

from local.ports import find_free_port
from tests.contract.databases import build_scope
from tests.contract.directory_server import DirectoryServer, serve_directory
from tests.fakes.clock import FixedClock, SteppingClock
from tests.fakes.directory import MemoryDirectoryAdapter

ADA = build_scope("acme", "auth0|ada")


@dataclass(frozen=True)
class Directory:
    """A directory, and the scope of somebody who belongs to these projects as far as it can be told."""

    port: DirectoryPort
    admit: Callable[[Scope, tuple[str, ...]], Scope]


@pytest.fixture(params=["memory", "token", "http", "recent"])
def directory(request: pytest.FixtureRequest) -> Iterator[Directory]:
    if request.param == "memory":
        memory = MemoryDirectoryAdapter()
        yield Directory(memory, lambda scope, projects: _join(memory, scope, projects))
    elif request.param == "token":
        yield Directory(TokenDirectoryAdapter(), _hold)
    else:
        with serve_directory() as server:
            asked: DirectoryPort = HttpDirectoryAdapter(server.url, lambda: "s3cret", FixedClock())
            port = RecentDirectoryAdapter(asked, FixedClock()) if request.param == "recent" else asked
            yield Directory(port, lambda scope, projects: _serve(server, scope, projects))


def _join(memory: MemoryDirectoryAdapter, scope: Scope, projects: tuple[str, ...]) -> Scope:
    memory.join(scope, *projects)
    return scope


def _hold(scope: Scope, projects: tuple[str, ...]) -> Scope:
    return replace(scope, project_ids=tuple(ProjectId(project) for project in projects))


def _serve(server: DirectoryServer, scope: Scope, projects: tuple[str, ...]) -> Scope:
    server.members[scope.organisation_id, scope.user_id] = list(projects)
    return scope


@pytest.mark.req("A-PROJ-07")
def test_a_person_has_their_own_projects_and_a_stranger_none(directory: Directory) -> None:
    ada = directory.admit(ADA, ("gaia", "apollo"))
    elsewhere = replace(ADA, organisation_id=OrganisationId("globex"))

    assert directory.port.list_projects(ada) == ("apollo", "gaia")
    assert directory.port.list_projects(build_scope("acme", "ben")) == ()
    assert directory.port.list_projects(elsewhere) == ()


def test_an_id_with_signs_of_its_own_is_asked_for_whole(directory: Directory) -> None:
    odd = directory.admit(build_scope("acme", "a/b?c=d#e|f"), ("apollo",))

    assert directory.port.list_projects(odd) == ("apollo",)
    assert directory.port.list_projects(build_scope("acme", "a")) == ()


@pytest.fixture
def server() -> Iterator[DirectoryServer]:
    with serve_directory() as server:
        server.members["acme", "auth0|ada"] = ["apollo"]
        yield server


def ask(server: DirectoryServer) -> tuple[ProjectId, ...]:
    return HttpDirectoryAdapter(server.url, lambda: None, FixedClock()).list_projects(ADA)


@pytest.mark.parametrize("trouble", [302, 401, 403, 500, 503])
def test_any_other_answer_closes(server: DirectoryServer, trouble: int) -> None:
    server.trouble = trouble

    with pytest.raises(Unavailable):
        ask(server)
    assert len(server.paths) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b'{"projects": []}',
        b'{"projectIds": "apollo"}',
        b'{"projectIds": [7]}',
        b'{"projectIds": ["apollo,gaia"]}',
        b'{"projectIds": [""]}',
        b'{"projectIds": ["' + b"a" * 129 + b'"]}',
        b'{"projectIds": [' + b'"a",' * (MAX_BYTES // 4) + b'"a"]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_an_answer_of_another_form_closes(server: DirectoryServer, answer: bytes) -> None:
    server.answer = answer

    with pytest.raises(Unavailable):
        ask(server)


def test_an_answer_that_comes_in_drips_closes_once_its_time_is_over(server: DirectoryServer) -> None:
    server.answer, server.drips = b" " * 50 + b'{"projectIds": ["apollo"]}', True
    port = HttpDirectoryAdapter(server.url, lambda: None, SteppingClock(step_s=WHOLE_S))

    with pytest.raises(Unavailable):
        port.list_projects(ADA)

    assert ask(server) == ("apollo",)


@pytest.mark.parametrize(
    ("organisation", "user"), [("acme", ".."), ("acme", "."), ("..", "ada"), (".", "ada")]
)
def test_nobody_is_asked_for_whose_id_would_lead_to_another_address(
    server: DirectoryServer, organisation: str, user: str
) -> None:
    server.answer = b'{"projectIds": ["apollo"]}'
    port = HttpDirectoryAdapter(server.url, lambda: None, FixedClock())

    with pytest.raises(Unavailable):
        port.list_projects(build_scope(organisation, user))

    assert server.paths == []


def test_a_directory_that_is_not_there_closes() -> None:
    port = find_free_port()

    with pytest.raises(Unavailable):
        HttpDirectoryAdapter(f"http://127.0.0.1:{port}", lambda: None, FixedClock()).list_projects(ADA)


def test_the_service_asks_in_its_own_name_and_a_rotated_one_is_picked_up(server: DirectoryServer) -> None:
    credentials = iter(("one", "two", None))
    port = HttpDirectoryAdapter(server.url + "/", lambda: next(credentials), FixedClock())

    for _ in range(3):
        port.list_projects(ADA)

    assert server.credentials == ["Bearer one", "Bearer two", None]
    assert set(server.paths) == {"/directory/organisations/acme/users/auth0%7Cada/projects"}


@pytest.mark.parametrize("url", ["", "directory", "http://directory.example.com", "ftp://127.0.0.1/"])
def test_an_address_that_others_could_answer_for_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="DIRECTORY_URL"):
        HttpDirectoryAdapter(url, lambda: None, FixedClock())


@pytest.mark.req("A-PROJ-07", "F-TENV-02")
def test_an_answer_is_kept_for_seconds_by_organisation_and_person() -> None:
    clock, memory = FixedClock(), MemoryDirectoryAdapter()
    recent = RecentDirectoryAdapter(memory, clock)
    elsewhere = replace(ADA, organisation_id=OrganisationId("globex"))
    memory.join(ADA, "apollo")

    assert recent.list_projects(ADA) == ("apollo",)
    assert recent.list_projects(elsewhere) == ()
    memory.leave(ADA, "apollo")
    clock.advance(KEPT_S - 0.1)
    assert recent.list_projects(ADA) == ("apollo",)
    assert memory.asked == 2
    clock.advance(0.1)
    assert recent.list_projects(ADA) == ()


def test_nothing_old_stands_in_for_a_directory_that_fails() -> None:
    clock, memory = FixedClock(), MemoryDirectoryAdapter()
    recent = RecentDirectoryAdapter(memory, clock)
    memory.join(ADA, "apollo")
    recent.list_projects(ADA)

    memory.reachable = False
    clock.advance(KEPT_S)
    for _ in range(2):
        with pytest.raises(Unavailable):
            recent.list_projects(ADA)
    memory.reachable = True

    assert recent.list_projects(ADA) == ("apollo",)


def test_only_so_many_people_are_remembered() -> None:
    memory = MemoryDirectoryAdapter()
    recent = RecentDirectoryAdapter(memory, FixedClock())

    for number in range(MOST + 1):
        recent.list_projects(build_scope("acme", f"user-{number}"))
    recent.list_projects(build_scope("acme", f"user-{MOST}"))
    asked = memory.asked
    recent.list_projects(build_scope("acme", "user-0"))

    assert (asked, memory.asked) == (MOST + 1, MOST + 2)
