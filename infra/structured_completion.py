"""Completions for the company's other services: invoked by IAM, no URL, no VPC, no database."""

from constructs import Construct
from equerry.runtime.settings import StructuredCompletionSettings

from infra.functions import Platform, PythonFunction
from infra.models import ModelChoices
from infra.parameters import Switches


class StructuredCompletion(Construct):
    """Callers hold lambda:InvokeFunction on the alias `live`; nobody has it by default."""

    def __init__(
        self, scope: Construct, id: str, *, platform: Platform, switches: Switches, models: ModelChoices
    ) -> None:
        super().__init__(scope, id)
        config = platform.config
        completion = PythonFunction(
            self,
            "Function",
            platform=platform,
            handler="structured_completion.handler.handle",
            memory_mib=1024,
            timeout_s=300,
            reaches_database=False,
            settings=StructuredCompletionSettings(
                equerry_stage=config.stage,
                **models.variables(conversations=False),
                assistant_off_ssm_prefix=switches.prefix,
            ),
        )
        self.function = completion.function
        models.grant(self.function, conversations=False)
        switches.grant_read_levels(self.function)
        self.alias = completion.live
