"""Every provider's adapter against its strict server: every fault a typed outcome, every request legal."""

import threading
import time
import traceback

import pytest
from equerry.adapters.rounds.attempt import Timeouts
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.adapters.rounds.retrying import RetryPolicy
from equerry.engine.model import (
    TextDelta,
)
from equerry.kernel.errors import EquerryError
from equerry.ports.model import (
    ModelCancelled,
    ModelRejected,
    ModelUnavailable,
    ModelUnusable,
)

from tests.contract.models.requests import ask, collect, news, text_of
from tests.contract.models.subjects import KITS, Kit, throttle
from tests.strict.replies import Drop, Failure, Finish, Hang, Item, Raw, Reply, Stall, Stream, Then
from tests.strict.server import StrictServer

SECRET_WORDS = "the merger is on Friday"
PATIENCE_S = 30.0
"""How long a test waits for what must come; it never waits so long when all is well."""


def list_faults(kit: Kit) -> dict[str, Reply]:
    started = kit.answer[: kit.half - 1]
    return {
        **kit.failures,
        "no reply": Drop(),
        "no body": Stream((Drop(),)),
        "an overload in the stream": Stream((*started, kit.in_band)),
        "an end without an end": Stream((*started, Finish())),
        "bytes that are no event": Stream((Raw(b"event: x\ndata: {oops\n\n" * 9),)),
    }


FAULTS = [(kit, fault) for kit in KITS for fault in list_faults(kit)]


@pytest.mark.parametrize(("kit", "fault"), FAULTS, ids=lambda each: getattr(each, "name", each))
@pytest.mark.req("F-GATE-03", "F-ROUTE-06")
def test_a_failure_before_the_first_word_is_tried_again(kit: Kit, fault: str) -> None:
    with kit.serve() as server, kit.connect(server) as model:
        server.play(list_faults(kit)[fault], kit.answer)

        assert text_of(collect(model, ask())) == "Widgets are painted."


def list_breaks(kit: Kit) -> dict[str, Item]:
    return {
        "a dead socket": Drop(),
        "an end without an end": Finish(),
        "an overload in the stream": kit.in_band,
        "bytes that are no event": Raw(b"event: x\ndata: {oops\n\n" * 9),
        "silence": Stall(1.0),
    }


BREAKS = [(kit, fault) for kit in KITS for fault in list_breaks(kit)]


@pytest.mark.parametrize(("kit", "fault"), BREAKS, ids=lambda each: getattr(each, "name", each))
@pytest.mark.req("F-GATE-03")
def test_a_failure_after_the_first_word_is_raised_and_nothing_is_asked_again(kit: Kit, fault: str) -> None:
    with (
        kit.serve() as server,
        kit.connect(server, timeouts=Timeouts(connect=1, idle=0.3, first_event=1)) as model,
    ):
        server.play((*kit.answer[: kit.half], list_breaks(kit)[fault]), kit.answer)
        stream = news(model.stream(ask()))

        assert next(stream) == TextDelta("Widgets ")
        with pytest.raises(ModelUnavailable):
            next(stream)

    assert len(server.requests) == 1


def test_what_cannot_be_read_is_never_skipped(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    garbled = Raw(b"data: {oops\n\n" * 9)
    server.play((*kit.answer[: kit.half], garbled, *kit.answer[kit.half :]))

    with pytest.raises(ModelUnavailable):
        collect(model, ask())


REFUSALS = [
    (kit, elsewhere, refusal)
    for kit in KITS
    for elsewhere, refusals in kit.refusals.items()
    for refusal in refusals
]


@pytest.mark.parametrize(
    ("kit", "elsewhere", "refusal"), REFUSALS, ids=lambda each: getattr(each, "name", "")
)
@pytest.mark.req("F-GATE-03")
def test_what_repeating_cannot_change_is_not_repeated(kit: Kit, refusal: Reply, *, elsewhere: bool) -> None:
    with kit.serve() as server, kit.connect(server) as model:
        server.play(refusal, kit.answer)

        with pytest.raises(ModelRejected) as caught:
            collect(model, ask())

    assert isinstance(caught.value, ModelUnusable) is elsewhere
    assert len(server.requests) == 1


def test_a_wrong_key_makes_the_model_unusable_and_is_in_no_error(kit: Kit, server: StrictServer) -> None:
    with kit.connect(server, key="mistyped-key") as model, pytest.raises(ModelUnusable) as caught:
        collect(model, ask())

    assert "mistyped-key" not in "".join(traceback.format_exception(caught.value))


def test_four_attempts_are_made_and_told(kit: Kit, server: StrictServer) -> None:
    server.play(*[kit.failures["overloaded"]] * 9)

    with (
        kit.connect(server, retries=RetryPolicy(first_wait_s=0.01, least_useful_s=0)) as model,
        pytest.raises(ModelUnavailable) as caught,
    ):
        collect(model, ask())

    assert len(server.requests) == caught.value.attempts == 4


def test_a_request_may_allow_fewer_attempts(kit: Kit, server: StrictServer) -> None:
    server.play(*[kit.failures["overloaded"]] * 9)

    with kit.connect(server) as model, pytest.raises(ModelUnavailable):
        collect(model, ask(attempts=1))

    assert len(server.requests) == 1


def test_a_failure_is_told_by_its_cause(kit: Kit, server: StrictServer, model: DrivenModelAdapter) -> None:
    for cause, failure in kit.failures.items():
        server.play(failure)

        with pytest.raises(ModelUnavailable) as caught:
            collect(model, ask(attempts=1))

        assert caught.value.cause == cause


def test_retry_after_is_obeyed_where_it_fits_the_deadline(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(throttle(kit, retry_after="0.4"), kit.answer)

    began = time.monotonic()
    collect(model, ask())

    assert time.monotonic() - began >= 0.4


def test_retry_after_beyond_the_deadline_ends_the_round_at_once(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(throttle(kit, retry_after="90"), kit.answer)

    with pytest.raises(ModelUnavailable) as caught:
        collect(model, ask(deadline_s=30))

    assert len(server.requests) == 1
    assert caught.value.retry_after_s == 90


LATE: dict[str, Item | Reply] = {
    "signs of life": Stall(20, pings=True),
    "silence": Stall(20),
    "no reply at all": Hang(20),
}


@pytest.mark.parametrize("late", LATE)
def test_the_deadline_ends_a_round_whatever_the_provider_does(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter, late: str
) -> None:
    fault = LATE[late]
    server.play(fault if isinstance(fault, Hang) else (*kit.answer[: kit.half], fault))  # type: ignore[arg-type]  # a Stall

    with pytest.raises(ModelUnavailable, match="deadline") as caught:
        collect(model, ask(deadline_s=0.4))

    assert caught.value.cause == "timeout"
    assert len(server.requests) <= 1


def test_the_deadline_does_not_wait_for_the_next_byte(kit: Kit, server: StrictServer) -> None:
    waited: list[bool] = []
    noticed = Then(lambda: waited.append(True))
    server.play((*kit.answer[: kit.half], Stall(PATIENCE_S), noticed, *kit.answer[kit.half :]))

    with (
        kit.connect(server, timeouts=Timeouts(connect=1, idle=30, first_event=30)) as model,
        pytest.raises(ModelUnavailable, match="deadline"),
    ):
        collect(model, ask(deadline_s=0.5))

    assert server.hung_up.wait(PATIENCE_S)
    assert waited == []


@pytest.mark.parametrize("late", ["silence", "no reply at all"])
@pytest.mark.req("A-GEM-15")
def test_a_cancellation_ends_a_round_that_waits(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter, late: str
) -> None:
    fault = LATE[late]
    server.play(fault if isinstance(fault, Hang) else (*kit.answer[: kit.half], fault))  # type: ignore[arg-type]  # a Stall
    request = ask()
    threading.Timer(0.2, request.cancellation.cancel).start()

    with pytest.raises(ModelCancelled):
        collect(model, request)


def test_a_cancelled_stream_is_closed_at_the_provider(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play((*kit.answer[: kit.half], Stall(20)))
    request = ask()
    stream = news(model.stream(request))
    next(stream)

    request.cancellation.cancel()

    with pytest.raises(ModelCancelled):
        next(stream)
    assert server.hung_up.wait(PATIENCE_S)


def test_a_cancelled_round_is_not_begun(server: StrictServer, model: DrivenModelAdapter) -> None:
    request = ask()
    request.cancellation.cancel()

    with pytest.raises(ModelCancelled):
        collect(model, request)

    assert server.requests == []


@pytest.mark.req("A-GEM-15")
def test_a_cancellation_ends_the_wait_for_another_attempt(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(throttle(kit, retry_after="20"), kit.answer)
    request = ask()
    threading.Timer(0.3, request.cancellation.cancel).start()

    with pytest.raises(ModelCancelled):
        collect(model, request)

    assert len(server.requests) == 1


def test_no_connection_is_unavailable(kit: Kit, server: StrictServer) -> None:
    with kit.connect(server) as model:
        server.shutdown()
        server.server_close()

        with pytest.raises(ModelUnavailable, match="connection") as caught:
            collect(model, ask(deadline_s=1))

    assert caught.value.cause == "connection"


@pytest.mark.parametrize("broken", [False, True])
def test_neither_key_nor_prompt_is_in_what_is_raised(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter, *, broken: bool
) -> None:
    refusal = kit.refusals[False][0]
    assert isinstance(refusal, Failure)
    server.play(Drop() if broken else Failure(refusal.status, refusal.kind, message=SECRET_WORDS))

    with pytest.raises(EquerryError) as caught:
        collect(model, ask(SECRET_WORDS, attempts=1))

    told = "".join(traceback.format_exception(caught.value))
    assert kit.key not in told
    assert SECRET_WORDS not in told
