"""MetricPort: over memory and over Embedded Metric Format."""

import json
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from equerry.adapters.aws.metrics import EmfMetricAdapter
from equerry.ports.metrics import MetricName, MetricPort

from tests.fakes.metrics import MemoryMetricAdapter

NAMES: tuple[MetricName, ...] = get_args(MetricName)


@dataclass
class Recorded:
    """A port, and what an operator would find of it."""

    metrics: MetricPort
    lines: list[str]

    def amounts(self, name: MetricName) -> list[float]:
        if isinstance(self.metrics, MemoryMetricAdapter):
            return self.metrics.list_amounts(name)
        return [amount for line in self.lines for amount in json.loads(line).get(name, [])]


@pytest.fixture(params=["memory", "emf"])
def recorded(request: pytest.FixtureRequest) -> Recorded:
    lines: list[str] = []
    if request.param == "memory":
        return Recorded(MemoryMetricAdapter(), lines)
    return Recorded(EmfMetricAdapter("test", write=lines.append), lines)


def test_what_is_recorded_together_or_apart_is_all_found(recorded: Recorded) -> None:
    recorded.metrics.record({"Turns": 1, "TurnCompleteMs": 812.5}, profile="docs", model="m-1")
    recorded.metrics.record({"Turns": 1})

    assert recorded.amounts("Turns") == [1, 1]
    assert recorded.amounts("TurnCompleteMs") == [812.5]
    assert recorded.amounts("TurnErrors") == []


@pytest.mark.req("A-MET-01")
@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_one_line_of_embedded_metric_format(name: MetricName) -> None:
    (line,) = emit({name: 3})

    record = json.loads(line)
    (declared,) = record["_aws"]["CloudWatchMetrics"]
    assert declared["Namespace"] == "Equerry"
    assert declared["Metrics"] == [{"Name": name, "Unit": unit_of(name)}]
    assert record[name] == [3.0]
    assert "\n" not in line


def test_a_metric_is_kept_for_the_stage_and_split_by_profile_and_model() -> None:
    (line,) = emit({"Turns": 1}, profile="docs", model="m-1")

    record = json.loads(line)
    assert record["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["stage"], ["stage", "profile", "model"]]
    assert (record["stage"], record["profile"], record["model"]) == ("test", "docs", "m-1")


def test_a_metric_is_split_by_shape_beside_profile_and_model() -> None:
    (line,) = emit({"Turns": 1}, profile="docs", model="m-1", shape="retrieval")

    sets = json.loads(line)["_aws"]["CloudWatchMetrics"][0]["Dimensions"]
    assert sets == [["stage"], ["stage", "profile", "model"], ["stage", "shape"]]
    assert json.loads(line)["shape"] == "retrieval"


def test_a_metric_that_is_not_split_has_the_stage_alone() -> None:
    (line,) = emit({"RetentionPurged": 7})

    assert json.loads(line)["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["stage"]]


@pytest.mark.parametrize("name", ["POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE"])
def test_the_environment_adds_no_dimension_and_moves_no_metric(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "elsewhere")

    (line,) = emit({"Turns": 1})

    assert "elsewhere" not in line


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), "many", None])
def test_an_amount_that_is_no_number_is_lost_and_nothing_else(amount: Any) -> None:
    assert emit({"Turns": amount}) == []


def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    def fail(_line: str) -> None:
        raise BrokenPipeError

    EmfMetricAdapter("test", write=fail).record({"Turns": 1})


def test_by_default_a_function_s_output_carries_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    EmfMetricAdapter("test").record({"Turns": 1})

    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["Turns"] == [1.0]


def emit(measures: dict[MetricName, Any], **split: Any) -> list[str]:
    """Return the lines that a record becomes."""
    lines: list[str] = []
    EmfMetricAdapter("test", write=lines.append).record(measures, **split)
    return lines


def unit_of(name: str) -> str:
    return "Milliseconds" if name.endswith("Ms") else "Percent" if name.endswith("Pct") else "Count"
