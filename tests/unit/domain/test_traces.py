"""The header by which a trace goes on, read as strictly as its standard says."""

import pytest
from equerry.domain.traces import Trace, parse_traceparent

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_header_is_read_and_written_back_the_same() -> None:
    header = f"00-{TRACE}-{SPAN}-01"

    assert parse_traceparent(header) == Trace(trace_id=TRACE, span_id=SPAN, sampled=True)
    assert parse_traceparent(header).to_header() == header


@pytest.mark.parametrize(("flags", "sampled"), [("00", False), ("01", True), ("03", True), ("02", False)])
def test_of_the_flags_only_the_sampling_bit_is_understood(flags: str, sampled: bool) -> None:
    assert parse_traceparent(f"00-{TRACE}-{SPAN}-{flags}").sampled is sampled


@pytest.mark.parametrize("rest", ["", "-more-to-come"])
def test_a_later_version_is_read_as_far_as_it_is_known(rest: str) -> None:
    assert parse_traceparent(f"cc-{TRACE}-{SPAN}-01{rest}").trace_id == TRACE


@pytest.mark.parametrize(
    "header",
    [
        "",
        TRACE,
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"cc-{TRACE}-{SPAN}-01more",
        f" 00-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00-{TRACE}-{SPAN}-zz",
    ],
)
def test_anything_else_is_refused(header: str) -> None:
    with pytest.raises(ValueError, match="traceparent"):
        parse_traceparent(header)
