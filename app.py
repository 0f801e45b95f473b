"""The CDK app: typed configuration in, stacks out."""

import sys

from aws_cdk import App, Environment, Validations
from cdk_nag import AwsSolutionsChecks

from infra import sizes
from infra.cost_alarm import add_cost_alarm
from infra.loading import load
from infra.reading import ConfigurationRefused
from infra.stack import EquerryStack

app = App()
try:
    config = load(app.node.try_get_context)
except ConfigurationRefused as refused:
    sys.exit(str(refused))
Validations.of(app).add_plugins(AwsSolutionsChecks(app))
EquerryStack(
    app,
    f"Equerry-{config.stage}",
    config=config,
    env=Environment(account=config.account, region=config.region),
)
add_cost_alarm(app, config=config)
sizes.check(app.synth().directory)
