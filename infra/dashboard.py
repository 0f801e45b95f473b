"""What an operator looks at first: how turns do, what they cost, and what waits."""

from collections.abc import Mapping
from typing import get_args

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct
from equerry.adapters.aws.metrics import NAMESPACE
from equerry.ports.metrics import MetricName, TurnShape

from infra.config import StageConfig
from infra.http_api import HttpApi
from infra.websocket_api import WebSocketApi

_PERIOD = Duration.minutes(5)
_HEIGHT = 6
_SUM = cloudwatch.Stats.SUM
_OLDEST = cloudwatch.Stats.MAXIMUM
_PERCENTILES = ("p50", "p95", "p99")


class Dashboard(Construct):
    """One page a stage; averages hide what hurts, so times are percentiles."""

    def __init__(self, scope: Construct, id: str, *, config: StageConfig) -> None:
        super().__init__(scope, id)
        self._stage = config.stage
        self._board = cloudwatch.Dashboard(self, "Board", default_interval=Duration.hours(12))
        self._show_turns()

    def show_apis(self, http: HttpApi, sockets: WebSocketApi) -> None:
        """What callers and sockets met."""
        at = {"ApiId": http.api.api_id, "Stage": http.stage.stage_name}
        live = {"ApiId": sockets.api.api_id, "Stage": sockets.stage.stage_name}
        self._row(
            _graph("HTTP API", *(_api(name, at) for name in ("Count", "4xx", "5xx"))),
            _graph(
                "Sockets",
                *(_api(name, live) for name in ("ConnectCount", "IntegrationError", "ExecutionError")),
            ),
        )

    def show_queues(self, queues: Mapping[str, sqs.IQueue], dead: Mapping[str, sqs.IQueue]) -> None:
        """How long turns and documents wait, and what was set aside."""
        self._row(
            _graph(
                "Oldest message, s",
                *(
                    queue.metric_approximate_age_of_oldest_message(
                        period=_PERIOD, statistic=_OLDEST, label=name
                    )
                    for name, queue in queues.items()
                ),
            ),
            _graph(
                "Dead letters",
                *(
                    queue.metric_approximate_number_of_messages_visible(
                        period=_PERIOD, statistic=_OLDEST, label=name
                    )
                    for name, queue in dead.items()
                ),
            ),
        )

    def show_functions(
        self, functions: Mapping[str, lambda_.IFunction], *, reaper: lambda_.IFunction
    ) -> None:
        """Failures of each, and whether the reaper does its round each minute."""
        graphs = [
            _graph(
                title,
                *(
                    function.metric(title, period=_PERIOD, statistic=_SUM, label=name)
                    for name, function in functions.items()
                ),
            )
            for title in ("Errors", "Throttles")
        ]
        rounds = reaper.metric_invocations(period=_PERIOD, statistic=_SUM, label="rounds in 5 min")
        longest = reaper.metric_duration(period=_PERIOD, statistic=_OLDEST, label="longest, ms")
        self._row(*graphs)
        self._row(_graph("Reaper", rounds, right=longest))

    def _show_turns(self) -> None:
        ended = self._counts("Turns", "TurnErrors", "TurnTruncated", "Refusals")
        refused = self._counts("RateLimited", "BudgetExhausted")
        self._row(_graph("Turns", *ended), _graph("Refused at the door", *refused))
        self._row(
            _graph("First token, ms", *self._percentiles("TurnFirstTokenMs")),
            _graph("Complete, ms", *self._percentiles("TurnCompleteMs")),
        )
        self._row(
            _graph("First token by shape, p95, ms", *self._by_shape("TurnFirstTokenMs")),
            _graph("Complete by shape, p95, ms", *self._by_shape("TurnCompleteMs")),
        )
        hits = self._metric("CacheHitRatePct", cloudwatch.Stats.AVERAGE)
        self._row(
            _graph("Tokens", self._metric("TokensSpent", _SUM), right=hits),
            _graph("Upkeep", *self._counts("RetentionPurged", "OrgOffboardPurge", "SwitchUnparseable")),
            _graph("Models", *self._counts("ModelRetiring", "ModelGone")),
        )
        outliers = self._metric("RetrievalOutliers", _SUM)
        self._row(
            _graph(
                "Passages retrieved",
                *self._counts("PassagesRetrieved", "CharactersRetrieved"),
                right=outliers,
            )
        )

    def _counts(self, *names: MetricName) -> list[cloudwatch.Metric]:
        return [self._metric(name, _SUM) for name in names]

    def _percentiles(self, name: MetricName) -> list[cloudwatch.Metric]:
        return [self._metric(name, statistic, label=statistic) for statistic in _PERCENTILES]

    def _by_shape(self, name: MetricName) -> list[cloudwatch.Metric]:
        shapes: tuple[TurnShape, ...] = get_args(TurnShape)
        return [self._metric(name, "p95", label=shape, shape=shape) for shape in shapes]

    def _metric(
        self, name: MetricName, statistic: str, *, label: str | None = None, **split: str
    ) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=name,
            dimensions_map={"stage": self._stage, **split},
            statistic=statistic,
            period=_PERIOD,
            label=label,
        )

    def _row(self, *widgets: cloudwatch.GraphWidget) -> None:
        self._board.add_widgets(*widgets)


def _api(name: str, where: Mapping[str, str]) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace="AWS/ApiGateway", metric_name=name, dimensions_map=where, statistic=_SUM, period=_PERIOD
    )


def _graph(
    title: str, *left: cloudwatch.IMetric, right: cloudwatch.IMetric | None = None
) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title, left=list(left), right=[right] if right else [], width=12, height=_HEIGHT
    )
