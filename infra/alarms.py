"""What rings: the first failure of any function or API, a turn that waits too long, a message set aside."""

from collections.abc import Iterator, Mapping

import jsii
from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct, IValidation
from equerry.adapters.aws.metrics import NAMESPACE
from equerry.ports.metrics import MetricName

from infra.alarm_topic import AlarmTopic
from infra.config import StageConfig
from infra.http_api import HttpApi
from infra.websocket_api import WebSocketApi

_WINDOW = Duration.minutes(5)
_WAITING_S = 60
_API = "AWS/ApiGateway"


class Alarms(Construct):
    """Each tells the alerts topic when it starts and when it is over; silence is no alarm."""

    def __init__(self, scope: Construct, id: str, *, config: StageConfig, key: kms.IKey) -> None:
        super().__init__(scope, id)
        self._config = config
        self._watched: set[str] = set()
        self.topic = self._topic(key)
        self._action = actions.SnsAction(self.topic)
        self.node.add_validation(_EveryFunctionWatched(self, self._watched))

    def watch_functions(self, functions: Mapping[str, lambda_.IFunction]) -> None:
        """Ring at a function's first error and its first throttled call."""
        for name, function in functions.items():
            self._watched.add(function.node.path)
            errors = function.metric_errors(period=_WINDOW, statistic=cloudwatch.Stats.SUM)
            throttles = function.metric_throttles(period=_WINDOW, statistic=cloudwatch.Stats.SUM)
            self._ring(f"{name}Errors", errors, says=f"{name} failed: look for its exception in its log.")
            self._ring(
                f"{name}Throttles", throttles, says=f"{name} was called more often than Lambda let it run."
            )

    def watch_apis(self, http: HttpApi, sockets: WebSocketApi) -> None:
        """Ring at the first answer of 5xx; those of our own making are successful invocations."""
        where = {"ApiId": http.api.api_id, "Stage": http.stage.stage_name}
        self._ring("Http5xx", _count("5xx", where), says="The HTTP API answered 5xx: see `request_failed`.")
        where = {"ApiId": sockets.api.api_id, "Stage": sockets.stage.stage_name}
        for name in ("IntegrationError", "ExecutionError"):
            self._ring(f"WebSocket{name}", _count(name, where), says=f"The socket API counted a {name}.")

    def watch_turns(self, queue: sqs.IQueue) -> None:
        """Ring when a turn is older than any worker may take for it: it waits, or fails again and again."""
        age = queue.metric_approximate_age_of_oldest_message(
            period=_WINDOW, statistic=cloudwatch.Stats.MAXIMUM
        )
        oldest_s = self._config.limits.worker_timeout_s + _WAITING_S
        self._ring("TurnQueueAge", age, threshold=oldest_s, says="Turns wait: raise worker_max_concurrency.")

    def watch_switches(self) -> None:
        """Ring while a switch says nothing: an operator who mistyped believes that something is off."""
        said = cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name="SwitchUnparseable",
            dimensions_map={"stage": self._config.stage},
            period=_WINDOW,
            statistic=cloudwatch.Stats.SUM,
        )
        self._ring(
            "SwitchUnparseable", said, says="A switch's parameter says nothing: see `switch_unparseable`."
        )

    def watch_retrieval(self) -> None:
        """Ring when one person had so much retrieved in a day that they may be copying what they may read."""
        passed = self._count_ours("RetrievalOutliers")
        self._ring("RetrievalOutliers", passed, says="A person retrieved a lot: see `retrieval_outlier`.")

    def watch_models(self) -> None:
        """Ring when a provider does not have a model that is asked for, and in time before that."""
        self._ring("ModelGone", self._count_ours("ModelGone"), says="A model is gone: see `model_gone`.")
        soon = self._count_ours("ModelRetiring", over=Duration.days(1))
        self._ring("ModelRetiring", soon, says="A model is taken away soon: see `model_retiring`.")

    def _count_ours(self, name: MetricName, *, over: Duration = _WINDOW) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=name,
            dimensions_map={"stage": self._config.stage},
            period=over,
            statistic=cloudwatch.Stats.SUM,
        )

    def watch_dead_letters(self, queues: Mapping[str, sqs.IQueue]) -> None:
        """Ring as long as a message is set aside."""
        for name, queue in queues.items():
            waiting = queue.metric_approximate_number_of_messages_visible(
                period=_WINDOW, statistic=cloudwatch.Stats.MAXIMUM
            )
            self._ring(
                f"{name}DeadLetters", waiting, says=f"{name} set a message aside after three failures."
            )

    def _topic(self, key: kms.IKey) -> sns.ITopic:
        if self._config.alarms.topic_arn:
            return sns.Topic.from_topic_arn(self, "Given", self._config.alarms.topic_arn)
        return AlarmTopic(self, "Alerts", key=key).topic

    def _ring(self, id: str, metric: cloudwatch.Metric, *, says: str, threshold: float = 1) -> None:
        alarm = cloudwatch.Alarm(
            self,
            id,
            metric=metric,
            threshold=threshold,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=f"Equerry {self._config.stage}: {says}",
        )
        alarm.add_alarm_action(self._action)
        alarm.add_ok_action(self._action)


@jsii.implements(IValidation)
class _EveryFunctionWatched:
    """Fails the synth and names each function that nobody would hear of."""

    def __init__(self, alarms: Alarms, watched: set[str]) -> None:
        self._alarms = alarms
        self._watched = watched

    def validate(self) -> list[str]:
        return [
            f"{path} has no alarm: name it in watch_functions (infra/stack.py)"
            for path in _functions_in(Stack.of(self._alarms))
            if path not in self._watched
        ]


def _functions_in(stack: IConstruct) -> Iterator[str]:
    for construct in stack.node.find_all():
        ours = not construct.node.path.partition("/")[2].startswith("Custom::")  # CDK's own, at deployment
        if isinstance(construct, lambda_.CfnFunction) and ours:
            assert construct.node.scope  # noqa: S101  # what a CfnFunction is the child of
            yield construct.node.scope.node.path


def _count(name: str, where: Mapping[str, str]) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=_API, metric_name=name, dimensions_map=where, period=_WINDOW, statistic=cloudwatch.Stats.SUM
    )
