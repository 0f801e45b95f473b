"""Completions for the company's other services: invoked by IAM, no URL, no VPC, no database."""

import json
from collections.abc import Iterator

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct
from equerry.runtime.gateway_settings import StructuredCompletionSettings
from equerry.surfaces.completion_frames import CONTENT_TYPE

from infra.functions import Platform, PythonFunction
from infra.models import ModelChoices
from infra.parameters import Switches

WRAPPER = "structured_completion/stream"


class StructuredCompletion(Construct):
    """Two functions, one that is waited for and one that streams, under one role.

    Callers hold lambda:InvokeFunction on their aliases `live` (for a stream its InvokeWithResponseStream is
    the same permission); nobody has it by default.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        platform: Platform,
        switches: Switches,
        models: ModelChoices,
        documents: s3.IBucket,
    ) -> None:
        super().__init__(scope, id)
        self._config = platform.config
        self._platform = platform
        self._base = f"/equerry/{platform.config.stage}"
        self._enabled = self._switch()
        self._profiles = dict(self._list_profile_parameters())
        settings = self._settings(switches, models, documents)
        self.waited = self._function("Function", "structured_completion.handler.handle", settings)
        self.streamed = self._function("Stream", "structured_completion.streaming.handle", settings)
        self.streamed.function.add_environment("RESPONSE_STREAM_CONTENT_TYPE", CONTENT_TYPE)
        for made in (self.waited, self.streamed):
            # Nobody reads what an invocation of type Event brings; Lambda would pay for it three times.
            made.live.configure_async_invoke(retry_attempts=0, max_event_age=Duration.minutes(1))
        role = self.waited.role
        models.grant(role, conversations=False)
        switches.grant_read_levels(role)
        read = (self._enabled, *self._profiles.values())
        iam.Grant.add_to_principal(
            grantee=role,
            actions=["ssm:GetParameter", "ssm:GetParameters"],
            resource_arns=[parameter.parameter_arn for parameter in read],
        )
        self._published = {
            "StructuredCompletion": self._publish("structured-completion-function-arn", self.waited),
            "StructuredCompletionStream": self._publish(
                "structured-completion-stream-function-arn", self.streamed
            ),
        }

    def outputs(self) -> dict[str, str]:
        """Return each alias's ARN, and the name of the parameter that holds it."""
        return {
            "StructuredCompletionArn": self.waited.live.function_arn,
            "StructuredCompletionStreamArn": self.streamed.live.function_arn,
            **{
                f"{name}FunctionArnSsmParameter": parameter.parameter_name
                for name, parameter in self._published.items()
            },
        }

    def _settings(
        self, switches: Switches, models: ModelChoices, documents: s3.IBucket
    ) -> StructuredCompletionSettings:
        config = self._config.structured_completion
        own = f"{documents.bucket_name}.s3.{Aws.REGION}.{Aws.URL_SUFFIX}"
        return StructuredCompletionSettings(
            equerry_stage=self._config.stage,
            structured_completions_enabled_ssm_parameter=self._enabled.parameter_name,
            structured_completion_deadline_milliseconds=config.deadline_ms,
            structured_completion_max_output_tokens=config.max_output_tokens,
            structured_completion_document_hosts=",".join((own, *config.document_hosts)),
            structured_completion_profiles=json.dumps(config.profiles) if config.profiles else None,
            assistant_off_ssm_prefix=switches.prefix,
            **models.variables(conversations=False),
        )

    def _function(self, id: str, handler: str, settings: StructuredCompletionSettings) -> PythonFunction:
        config = self._config.structured_completion
        streams = id == "Stream"
        made = PythonFunction(
            self,
            id,
            platform=self._platform,
            handler=handler,
            memory_mib=config.memory_mib,
            timeout_s=config.timeout_s,
            reserved_concurrency=config.reserved_concurrency,
            reaches_database=False,
            settings=settings,
            wrapper=WRAPPER if streams else None,
            beside=self.waited if streams else None,
        )
        for variable, parameter in self._profiles.items():
            made.function.add_environment(variable, parameter.parameter_name)
        return made

    def _switch(self) -> ssm.StringParameter:
        """Only the first deployment writes the value: a template that does not change is not applied again.

        So nothing about this parameter may ever change; tests/infra holds it as it is.
        """
        return ssm.StringParameter(
            self,
            "Enabled",
            parameter_name=f"{self._base}/structured-completions-enabled",
            string_value="true" if self._config.structured_completion.enabled else "false",
            allowed_pattern="true|false",
            description='"false" stops structured completions within 30 seconds; "true" lets them run again',
        )

    def _list_profile_parameters(self) -> Iterator[tuple[str, ssm.StringParameter]]:
        """Yield each profile's two parameters, by the variable that names them."""
        for profile in self._config.structured_completion.profiles:
            stem = profile.replace("-", "_").upper()
            for variable, name in (("PROVIDER", "provider"), ("MODEL_ID", "model")):
                parameter = ssm.StringParameter(
                    self,
                    f"{profile}-{name}",
                    parameter_name=f"{self._base}/ai/{profile}/{name}",
                    string_value="UNSET",
                    description='Read within a minute; "UNSET" says nothing',
                )
                yield f"{stem}_{variable}_SSM_PARAMETER", parameter

    def _publish(self, name: str, made: PythonFunction) -> ssm.StringParameter:
        return ssm.StringParameter(
            self,
            name,
            parameter_name=f"{self._base}/{name}",
            string_value=made.live.function_arn,
            description="Invoke this alias under a role of your own",
        )
