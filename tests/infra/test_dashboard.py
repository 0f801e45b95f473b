"""One page tells an operator how the assistants do."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from equerry.ports.metrics import MetricName, TurnShape

from tests.infra.stages import SynthesisedStage


def widgets_of(stage: SynthesisedStage) -> list[dict[str, Any]]:
    """Return the dashboard's graphs; a reference reads as the resource's logical id."""
    (board,) = stage.of_type("AWS::CloudWatch::Dashboard").values()
    text = "".join(_as_text(part) for part in board["DashboardBody"]["Fn::Join"][1])
    return [widget["properties"] for widget in json.loads(text)["widgets"]]


def _as_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    (reference,) = part.values()
    return str(reference[0] if isinstance(reference, list) else reference)


def metrics_of(widgets: list[dict[str, Any]]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield namespace, name and dimensions of each line."""
    for widget in widgets:
        for namespace, name, *rest in widget["metrics"]:
            texts = [part for part in rest if isinstance(part, str)]
            yield namespace, name, dict(zip(texts[::2], texts[1::2], strict=True))


def test_every_metric_of_ours_is_shown_for_its_stage_and_no_other_name_is(stage: SynthesisedStage) -> None:
    ours = [(name, where) for space, name, where in metrics_of(widgets_of(stage)) if space == "Equerry"]

    assert {name for name, _ in ours} == set(get_args(MetricName))
    assert {where["stage"] for _, where in ours} == {stage.config.stage}
    assert {tuple(where) for _, where in ours} == {("stage",), ("shape", "stage")}


@pytest.mark.req("F-LAT-01")
@pytest.mark.parametrize("title", ["First token, ms", "Complete, ms"])
def test_times_are_percentiles_and_never_an_average(stage: SynthesisedStage, title: str) -> None:
    (widget,) = (widget for widget in widgets_of(stage) if widget["title"] == title)

    assert [line[-1]["stat"] for line in widget["metrics"]] == ["p50", "p95", "p99"]


@pytest.mark.req("F-LAT-01")
@pytest.mark.parametrize("title", ["First token by shape, p95, ms", "Complete by shape, p95, ms"])
def test_times_are_split_by_what_a_turn_did(stage: SynthesisedStage, title: str) -> None:
    (widget,) = (widget for widget in widgets_of(stage) if widget["title"] == title)

    shapes = [where["shape"] for _, _, where in metrics_of([widget])]
    assert shapes == list(get_args(TurnShape))
    assert {line[-1]["stat"] for line in widget["metrics"]} == {"p95"}


def test_every_queue_and_every_function_is_on_the_page(stage: SynthesisedStage) -> None:
    shown = {named for _, _, where in metrics_of(widgets_of(stage)) for named in where.values()}

    assert set(stage.of_type("AWS::SQS::Queue")) <= shown
    assert set(stage.of_type("AWS::Lambda::Function")) <= shown
