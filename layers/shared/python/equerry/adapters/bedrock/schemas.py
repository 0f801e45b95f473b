"""What of JSON Schema the models know that are not Anthropic's; the least of what their makers state."""

from equerry.adapters.rounds.subsets import Subset

OTHERS = Subset(
    keywords=frozenset(
        {
            "additionalProperties",
            "anyOf",
            "description",
            "enum",
            "exclusiveMaximum",
            "exclusiveMinimum",
            "format",
            "items",
            "maxItems",
            "maxLength",
            "maximum",
            "minItems",
            "minLength",
            "minimum",
            "pattern",
            "properties",
            "required",
            "title",
            "type",
        }
    ),
    root=frozenset({"properties", "required", "type"}),
    formats=frozenset({"date", "date-time", "email", "ipv4", "ipv6", "time", "uri", "uuid"}),
    literals=(str, int, float),
    references=False,
)
