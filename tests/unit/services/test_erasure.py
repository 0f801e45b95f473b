"""Erasure goes on wherever it died, and finds nothing the second time."""

import pytest
from equerry.domain.retention import ErasureRequest, parse_erasure, parse_organisation
from equerry.kernel.errors import InvalidInput, Unavailable
from equerry.services.disposals import DisposalService
from equerry.services.erasure import ErasureService

from tests.fakes.clock import FixedClock
from tests.fakes.life import MemoryDisposalAdapter, MemoryErasureAdapter, MemoryRemainsAdapter

ADA = parse_erasure("ada", "r-1")


class World:
    """Ada's rows, and what two other stores hold of her."""

    def __init__(self) -> None:
        self.clock = FixedClock()
        self.noted = MemoryDisposalAdapter()
        self.erasures = MemoryErasureAdapter(self.noted, {"ada": {"assistant_conversations": 2}})
        self.items, self.objects = MemoryRemainsAdapter(), MemoryRemainsAdapter()
        self.items.hold("person", "ada", 4)
        self.objects.hold("conversation", "c-1", 3)
        self.service = ErasureService(
            erasures=self.erasures,
            disposals=DisposalService(
                disposals=self.noted,
                stores={"items": self.items, "objects": self.objects},
                clock=self.clock,
            ),
            clock=self.clock,
            time_s=60,
        )

    def is_clean(self) -> bool:
        return not (self.items.held or self.objects.held or self.erasures.rows or self.noted.noted)


@pytest.mark.req("A-ERASE-09")
def test_a_second_erasure_finds_nothing_anywhere() -> None:
    world = World()

    first, second = world.service.erase(ADA), world.service.erase(ADA)

    assert (first.rows, first.remains) == ({"assistant_conversations": 2}, {"items": 4, "objects": 3})
    assert (second.rows, second.remains) == ({"assistant_conversations": 0}, {"items": 0, "objects": 0})
    assert world.is_clean()


@pytest.mark.parametrize(("store", "at"), [("items", 1), ("objects", 1), ("items", 2), ("objects", 2)])
def test_an_erasure_that_died_between_stores_is_finished_by_the_next_run(store: str, at: int) -> None:
    world = World()
    failing = getattr(world, store)
    calls = iter(range(1, 9))
    answer = failing.dispose

    def die_once(disposals: object) -> int:
        if next(calls) == at:
            raise Unavailable("died here")
        return int(answer(disposals))

    failing.dispose = die_once
    with pytest.raises(Unavailable):
        world.service.erase(ADA)
    assert world.erasures.completed == set()
    assert world.service.resume() == 1

    assert world.is_clean()
    assert world.erasures.list_unfinished() == ()


def test_an_erasure_that_fails_keeps_no_other_waiting() -> None:
    world = World()
    ben = parse_erasure("ben", "r-2")
    world.erasures.rows["ben"] = {"assistant_conversations": 1}
    for request in (ADA, ben):
        world.erasures.begin(request, at=world.clock.now())
    world.items.failures = 1

    with pytest.raises(Unavailable, match="1 erasures"):
        world.service.resume()
    assert world.erasures.list_unfinished() == (ADA,)
    assert world.service.resume() == 1

    assert world.erasures.list_unfinished() == ()


def test_an_erasure_without_time_is_not_told_as_done() -> None:
    world = World()
    hurried = ErasureService(
        erasures=world.erasures, disposals=world.service.disposals, clock=world.clock, time_s=0
    )

    with pytest.raises(Unavailable, match="not finished"):
        hurried.erase(ADA)

    assert world.erasures.list_unfinished() == (ADA,)


@pytest.mark.req("A-ERASE-02")
@pytest.mark.parametrize(
    ("user", "request_id"),
    [
        (None, "r"),
        ("", "r"),
        (7, "r"),
        ("a/b", "r"),
        ("a,b", "r"),
        ("x" * 129, "r"),
        ("ada", None),
        ("ada", ""),
        ("ada", " "),
        ("ada", "r" * 129),
    ],
)
def test_a_request_that_names_nobody_or_nothing_is_refused(user: object, request_id: object) -> None:
    with pytest.raises(InvalidInput):
        parse_erasure(user, request_id)


def test_a_well_formed_request_is_read() -> None:
    user = "5f0c9d0e-8f3e-4a53-9a55-0d7f3a1b2c3d"

    assert parse_erasure(user, "ticket-77") == ErasureRequest(user_id=user, request_id="ticket-77")  # type: ignore[arg-type]  # a plain text equals its identifier
    assert parse_organisation(user) == user


@pytest.mark.parametrize("wrong", [None, "", "a/b", 3])
def test_an_organisation_is_named_by_an_id(wrong: object) -> None:
    with pytest.raises(InvalidInput):
        parse_organisation(wrong)
