"""What every JSON object of the API has in common, and the one that tells of a failure."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class WireModel(BaseModel):
    """A JSON object with camelCase names; requests refuse names they do not know."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", from_attributes=True, strict=True
    )


class Problem(WireModel):
    """RFC 9457, with the stable `code` and the `reference` that our logs know."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    reference: str
