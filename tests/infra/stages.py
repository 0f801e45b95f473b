"""Synthesised stages to ask questions of, without building a single wheel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aws_cdk import App, Environment
from aws_cdk.assertions import Template

from infra.config import StageConfig
from infra.loading import load
from infra.stack import EquerryStack


@dataclass(frozen=True)
class SynthesisedStage:
    """One stage's configuration and its template."""

    config: StageConfig
    template: Mapping[str, Any]

    @cached_property
    def resources(self) -> dict[str, Mapping[str, Any]]:
        """All resources by logical id."""
        return dict(self.template["Resources"])

    def of_type(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Properties of every resource of one type, by logical id."""
        return {
            name: resource.get("Properties", {})
            for name, resource in self.resources.items()
            if resource["Type"] == kind
        }

    def functions(self) -> dict[str, Mapping[str, Any]]:
        """Properties of every Python function, by handler."""
        found = self.of_type("AWS::Lambda::Function").values()
        return {function["Handler"]: function for function in found if "python" in function["Runtime"]}

    def statements_of(self, handler: str) -> Iterator[Mapping[str, Any]]:
        """Every policy statement of one function's role."""
        role = self.functions()[handler]["Role"]["Fn::GetAtt"][0]
        for policy in self.of_type("AWS::IAM::Policy").values():
            if {"Ref": role} in policy["Roles"]:
                yield from policy["PolicyDocument"]["Statement"]

    def actions_of(self, handler: str) -> set[str]:
        """Every action that one function may call."""
        return {
            action for statement in self.statements_of(handler) for action in as_list(statement["Action"])
        }


def synthesise(stage: str, **context: str) -> SynthesisedStage:
    """Build one of the stages that ship, as `cdk -c stage=... -c ...` would."""
    plain = {"aws:cdk:bundling-stacks": [], "@aws-cdk/aws-iam:minimizePolicies": True}
    app = App(context={**plain, "stage": stage, **context})
    config = load(app.node.try_get_context)
    place = Environment(account=config.account, region=config.region)
    stack = EquerryStack(app, f"Equerry-{config.stage}", config=config, env=place)
    return SynthesisedStage(config=config, template=Template.from_stack(stack).to_json())


def as_list(entry: Any) -> list[Any]:
    """CloudFormation writes a list of one as its only entry."""
    return entry if isinstance(entry, list) else [entry]
