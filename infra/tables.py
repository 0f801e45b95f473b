"""DynamoDB: what a running turn needs quickly, and nothing of the truth."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.key import grant_key
from infra.nag import acknowledge

# What DynamoDB does with a table's key on behalf of whoever reads or writes it.
_KEY_OPERATIONS = (
    "Encrypt",
    "Decrypt",
    "ReEncryptFrom",
    "ReEncryptTo",
    "GenerateDataKey",
    "GenerateDataKeyWithoutPlaintext",
    "DescribeKey",
)


class TurnTable(Construct):
    """One table: pay per request, the stage's key, forgets by `expires_at` (epoch seconds)."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        key: kms.IKey,
        removal: RemovalPolicy,
        sort: dynamodb.AttributeType | None,
    ) -> None:
        super().__init__(scope, id)
        self._key = key
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="sk", type=sort) if sort else None,
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED,
            encryption_key=key,
            time_to_live_attribute="expires_at",
            removal_policy=removal,
        )
        acknowledge(
            self.table,
            "AwsSolutions-DDB3",
            reason="Leases, sockets, log, flags, counters live for days at most; the truth is in PostgreSQL",
        )

    def grant(self, grantee: iam.IGrantable, *operations: str) -> None:
        """Exactly these DynamoDB operations on this table, and its key through DynamoDB."""
        iam.Grant.add_to_principal(
            grantee=grantee,
            actions=[f"dynamodb:{operation}" for operation in operations],
            resource_arns=[self.table.table_arn],
        )
        grant_key(grantee, self._key, *_KEY_OPERATIONS, via="dynamodb")


class Tables(Construct):
    """The five tables, and who may do what with them."""

    def __init__(self, scope: Construct, id: str, *, key: kms.IKey, removal: RemovalPolicy) -> None:
        super().__init__(scope, id)
        text, number = dynamodb.AttributeType.STRING, dynamodb.AttributeType.NUMBER
        self.leases = TurnTable(self, "Leases", key=key, removal=removal, sort=None)
        self.connections = TurnTable(self, "Connections", key=key, removal=removal, sort=text)
        self.replay = TurnTable(self, "Replay", key=key, removal=removal, sort=number)
        self.run_flags = TurnTable(self, "RunFlags", key=key, removal=removal, sort=text)
        self.usage = TurnTable(self, "Usage", key=key, removal=removal, sort=text)

    def grant_accept_turns(self, grantee: iam.IGrantable) -> None:
        """Count a turn, take its lease, raise a stop flag, issue tickets, settle what a dead worker left."""
        self.leases.grant(grantee, "GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem")
        self.usage.grant(grantee, "BatchGetItem", "PutItem", "UpdateItem")
        self.run_flags.grant(grantee, "PutItem", "DeleteItem")
        self.connections.grant(grantee, "PutItem", "Query", "DeleteItem")
        self.replay.grant(grantee, "PutItem", "Query")

    def grant_hold_sockets(self, grantee: iam.IGrantable) -> None:
        """Redeem a ticket, keep a socket's subscriptions, and replay what it missed of the live run."""
        self.leases.grant(grantee, "GetItem")
        self.connections.grant(grantee, "GetItem", "PutItem", "DeleteItem", "Query")
        self.replay.grant(grantee, "Query")

    def grant_run_turns(self, grantee: iam.IGrantable) -> None:
        """Claim, keep and settle the lease, log envelopes, find who listens, heed flags, tell failures."""
        self.leases.grant(grantee, "GetItem", "UpdateItem", "DeleteItem")
        self.usage.grant(grantee, "UpdateItem")
        self.run_flags.grant(grantee, "GetItem", "PutItem", "Query", "DeleteItem")
        self.connections.grant(grantee, "Query", "DeleteItem")
        self.replay.grant(grantee, "PutItem", "Query")

    def grant_forget(self, grantee: iam.IGrantable) -> None:
        """Find and delete what people, runs and organisations left."""
        for table in (self.leases, self.connections, self.usage):
            table.grant(grantee, "Scan", "Query", "DeleteItem")
        for table in (self.replay, self.run_flags):
            table.grant(grantee, "Query", "DeleteItem")

    def grant_settle_turns(self, grantee: iam.IGrantable) -> None:
        """Find lapsed leases and end their runs visibly."""
        self.leases.grant(grantee, "Scan", "GetItem", "UpdateItem", "DeleteItem")
        self.usage.grant(grantee, "UpdateItem")
        self.run_flags.grant(grantee, "DeleteItem")
        self.connections.grant(grantee, "Query", "DeleteItem")
        self.replay.grant(grantee, "PutItem", "Query")
