"""Tokens spent, comparable across providers."""

from dataclasses import dataclass

from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more model rounds; every count is >= 0.

    `input_tokens` includes what was read from or written to a provider's prompt cache, so that
    providers which report them apart and those which do not can be compared.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def tokens(self) -> int:
        """What a budget is charged: input and output; the other counts are parts of these."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )
