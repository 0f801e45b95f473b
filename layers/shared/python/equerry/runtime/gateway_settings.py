"""What functions that ask models read from their environment.

Apart from the other settings: a streamed completion's first frame waits for all that is imported.
"""

from dataclasses import dataclass

from equerry.kernel.kinds import value
from equerry.runtime.environment import Environment


@value
@dataclass(frozen=True, kw_only=True)  # no slots: a class may have them from one of its bases alone
class GatewaySettings(Environment):
    """Which models a function may ask; lists have commas between their entries.

    Attributes:
        model_provider: chosen here it goes before the parameter; without either there is the extractive one.
        model_id: as the provider names it.
        model_secret_arn: holds the key of `model_provider`.
        model_base_url: where `model_provider` is, if not at its own address.
        model_secrets: of further providers, `openai=arn:...`.
        model_base_urls: of further providers, `openai=https://...`.
        model_allowed: pairs that a parameter may choose, `anthropic/claude-x`; the one stated here always is.
        model_fallbacks: pairs that stand in, in order; `extractive` may be the last.
        model_purposes: a model for one purpose, `judging=bedrock/...`.
        model_reasoning: how hard a purpose is thought about, `judging=high`.
        model_guardrail: of Bedrock's models, `id:version`.
        model_evaluations: what admitted each pair, `anthropic/claude-x=REFERENCE`; a pair without one may not
            be asked. `any`, or unset: nobody has evaluated anything, which is for one's own machine.
        model_prices: what models cost that the list of prices lacks, or has otherwise; see `domain.prices`.
        model_retirements: last days of models that are not known here; see `domain.retirements`.
        model_most_at_once: rounds under way at one provider in one process.
    """

    model_provider: str | None = None
    model_provider_ssm_parameter: str | None = None
    model_id: str | None = None
    model_id_ssm_parameter: str | None = None
    model_secret_arn: str | None = None
    model_base_url: str | None = None
    model_secrets: str | None = None
    model_base_urls: str | None = None
    model_allowed: str | None = None
    model_fallbacks: str | None = None
    model_purposes: str | None = None
    model_reasoning: str | None = None
    model_guardrail: str | None = None
    model_evaluations: str | None = None
    model_prices: str | None = None
    model_retirements: str | None = None
    model_most_at_once: int = 8


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredCompletionSettings(GatewaySettings):
    """Completions for other services: no database, no API, and no switch of the assistant's.

    Attributes:
        structured_completion_document_hosts: commas between them; without any every document is refused.
        structured_completion_profiles: see `domain.completion_profiles`; where a profile's parameters are is
            told by variables of its own name.
    """

    equerry_stage: str
    structured_completions_enabled: str | None = None
    structured_completions_enabled_ssm_parameter: str | None = None
    structured_completion_deadline_milliseconds: int = 280_000
    structured_completion_max_output_tokens: int = 8000
    structured_completion_document_hosts: str | None = None
    structured_completion_profiles: str | None = None
    assistant_off_ssm_prefix: str | None = None
