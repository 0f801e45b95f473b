"""The models a function may ask: its settings, and what it may call for them."""

from collections.abc import Iterable, Mapping
from typing import Any

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.config import ModelConfig, StageConfig

_CONVERSATION = "assistant_conversation"


class ModelChoices(Construct):
    """What an operator chooses without a deployment, where the stage lets him.

    A parameter that says `-` says nothing; one that names a pair which is not allowed counts as silent.
    """

    def __init__(self, scope: Construct, id: str, *, config: StageConfig) -> None:
        super().__init__(scope, id)
        self._config = config.model
        self._shared: dict[str, ssm.StringParameter] = {}
        self._conversation: dict[str, ssm.StringParameter] = {}
        if config.model.by_parameter:
            base, model = f"/equerry/{config.stage}/ai", config.model
            self._shared = {
                "model_provider": self._parameter("Provider", f"{base}/provider", model.provider),
                "model_id": self._parameter("Id", f"{base}/model", model.id or "-"),
            }
            self._conversation = {
                f"{_CONVERSATION}_provider": self._parameter(
                    "ConversationProvider", f"{base}/conversation/provider", "-"
                ),
                f"{_CONVERSATION}_model_id": self._parameter(
                    "ConversationId", f"{base}/conversation/model", "-"
                ),
            }

    def variables(self, *, conversations: bool) -> dict[str, Any]:
        """Return the settings of a function that holds conversations, or of one that does not."""
        read = self._shared | (self._conversation if conversations else {})
        return _variables(self._config) | {
            f"{name}_ssm_parameter": parameter.parameter_name for name, parameter in read.items()
        }

    def grant(self, grantee: iam.IGrantable, *, conversations: bool) -> None:
        """Read the keys and the choices, and call Bedrock's models where one is configured."""
        _grant(grantee, ["secretsmanager:GetSecretValue"], _list_secrets(self._config))
        read = self._shared | (self._conversation if conversations else {})
        arns = [parameter.parameter_arn for parameter in read.values()]
        _grant(grantee, ["ssm:GetParameter", "ssm:GetParameters"], arns)
        if self._config.uses_bedrock:
            _grant_bedrock(grantee, self._config)

    def _parameter(self, id: str, name: str, text: str) -> ssm.StringParameter:
        return ssm.StringParameter(
            self,
            id,
            parameter_name=name,
            string_value=text,
            description='Read within a minute; "-" says nothing',
        )


def _variables(model: ModelConfig) -> dict[str, Any]:
    stated = None if model.by_parameter else model.provider
    chosen = None if model.by_parameter else model.id
    # A provider that a parameter chooses has its key and address by name, like every other.
    secrets = _with_own(model, model.secrets, model.secret_arn)
    addresses = _with_own(model, model.base_urls, model.base_url)
    return {
        "model_provider": stated,
        "model_id": chosen,
        "model_secret_arn": None if model.by_parameter else model.secret_arn,
        "model_base_url": None if model.by_parameter else model.base_url,
        "model_secrets": _join(secrets) if model.by_parameter else _join(model.secrets),
        "model_base_urls": _join(addresses) if model.by_parameter else _join(model.base_urls),
        "model_allowed": ",".join(model.pairs) or None,
        "model_fallbacks": ",".join(model.fallbacks) or None,
        "model_purposes": _join(model.purposes),
        "model_reasoning": _join(model.reasoning),
        "model_guardrail": model.guardrail,
        "model_evaluations": "any" if model.evaluations is None else _join(model.evaluations) or "-",
        "model_prices": ",".join(model.prices) or None,
        "model_retirements": ",".join(model.retirements) or None,
    }


def _with_own(model: ModelConfig, named: Mapping[str, str], own: str | None) -> dict[str, str]:
    return {**named, model.provider: own} if own else dict(named)


def _join(entries: Mapping[str, str]) -> str | None:
    return ",".join(f"{name}={text}" for name, text in entries.items()) or None


def _list_secrets(model: ModelConfig) -> list[str]:
    own = (model.secret_arn,) if model.secret_arn else ()
    return [*own, *(arn for arn in model.secrets.values() if arn not in own)]


def _grant_bedrock(grantee: iam.IGrantable, model: ModelConfig) -> None:
    """Any model of Bedrock's: which one is asked is the configuration's, and a profile spans regions."""
    here = f"arn:{Aws.PARTITION}:bedrock:{Aws.REGION}:{Aws.ACCOUNT_ID}"
    models = [f"arn:{Aws.PARTITION}:bedrock:*::foundation-model/*"]
    profiles = [f"{here}:inference-profile/*", f"{here}:application-inference-profile/*"]
    _grant(grantee, ["bedrock:InvokeModelWithResponseStream"], [*models, *profiles])
    if model.guardrail:
        _grant(grantee, ["bedrock:ApplyGuardrail"], [f"{here}:guardrail/*"])


def _grant(grantee: iam.IGrantable, actions: list[str], arns: Iterable[str]) -> None:
    if resources := list(arns):
        iam.Grant.add_to_principal(grantee=grantee, actions=actions, resource_arns=resources)
