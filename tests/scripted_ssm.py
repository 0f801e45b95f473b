"""A Systems Manager that says what it was told to, and counts who asked."""

from typing import Any

from botocore.exceptions import EndpointConnectionError


class ScriptedSsm:
    """The client's one call that the reader makes; `out` takes it away."""

    def __init__(self, **values: str) -> None:
        self.values = dict(values)
        self.asked: list[tuple[str, ...]] = []
        self.out = False

    def get_parameters(self, **asked: Any) -> dict[str, Any]:
        """Answer as SSM does: without those that do not exist."""
        self.asked.append(tuple(asked["Names"]))
        if self.out:
            raise EndpointConnectionError(endpoint_url="https://ssm.invalid")
        found = [{"Name": name, "Value": self.values[name]} for name in asked["Names"] if name in self.values]
        return {"Parameters": found}
