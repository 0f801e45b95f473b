"""Database secrets: one a role, each {host, port, dbname, username, password}."""

from dataclasses import dataclass

from aws_cdk import RemovalPolicy, SecretValue, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secrets
from constructs import Construct

from infra.config import DatabaseAddress
from infra.key import grant_key
from infra.nag import acknowledge

ROTATION_REASON = (
    "The migrator sets each role's password from its secret, so a changed secret rotates at the next deploy"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the database answers; both may be tokens that CloudFormation fills in."""

    host: str
    port: str
    name: str


class RoleSecret(Construct):
    """A generated password for one database role, with all that a client needs to connect."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        username: str,
        endpoint: Endpoint,
        key: kms.IKey,
        removal: RemovalPolicy,
    ) -> None:
        super().__init__(scope, id)
        template = {
            "host": endpoint.host,
            "port": endpoint.port,
            "dbname": endpoint.name,
            "username": username,
        }
        self._secret = secrets.Secret(
            self,
            "Secret",
            encryption_key=key,
            removal_policy=removal,
            generate_secret_string=secrets.SecretStringGenerator(
                secret_string_template=Stack.of(self).to_json_string(template),
                generate_string_key="password",
                password_length=40,
                exclude_punctuation=True,
            ),
        )
        acknowledge(self._secret, "AwsSolutions-SMG4", reason=ROTATION_REASON)
        self.arn = secret_arn(self._secret)
        self.content = f"{username}@{endpoint.host}:{endpoint.port}/{endpoint.name}"
        """What it holds beside the password, which is made anew whenever this changes."""

    def grant_read(self, grantee: iam.IGrantable) -> None:
        """Let a function read the current value."""
        grant_secret_read(self._secret, grantee)


class GivenSecret(Construct):
    """The owner's secret where the database is not ours to create."""

    def __init__(self, scope: Construct, id: str, *, address: DatabaseAddress, key: kms.IKey) -> None:
        super().__init__(scope, id)
        fields = {
            "host": address.host,
            "port": str(address.port),
            "dbname": address.name,
            "username": address.owner_username,
            "password": address.owner_password,
        }
        self.secret = secrets.Secret(
            self,
            "Secret",
            encryption_key=key,
            removal_policy=RemovalPolicy.DESTROY,
            secret_object_value={name: SecretValue.unsafe_plain_text(text) for name, text in fields.items()},
        )
        acknowledge(
            self.secret,
            "AwsSolutions-SMG4",
            reason="The local database's password is made anew with its data",
        )


def secret_arn(secret: secrets.Secret) -> str:
    """The ARN by attribute: `Ref` is the ARN on AWS, but on the emulator the name, which no grant matches."""
    resource = secret.node.default_child
    assert isinstance(resource, secrets.CfnSecret)  # noqa: S101  # what Secret is made of
    return resource.attr_id


def grant_secret_read(secret: secrets.Secret, grantee: iam.IGrantable) -> None:
    """GetSecretValue on exactly this secret, and its key through Secrets Manager."""
    iam.Grant.add_to_principal(
        grantee=grantee, actions=["secretsmanager:GetSecretValue"], resource_arns=[secret_arn(secret)]
    )
    if secret.encryption_key:
        grant_key(grantee, secret.encryption_key, "Decrypt", via="secretsmanager")
