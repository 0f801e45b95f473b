"""DynamoDB: what a running turn needs quickly, and nothing of the truth."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.nag import acknowledge


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
            reason="Leases, sockets, the replay log and flags live for minutes to days; the truth is in PostgreSQL",
        )

    def grant(self, grantee: iam.IGrantable, *operations: str) -> None:
        """Exactly these DynamoDB operations on this table, and its key."""
        iam.Grant.add_to_principal(
            grantee=grantee,
            actions=[f"dynamodb:{operation}" for operation in operations],
            resource_arns=[self.table.table_arn],
        )
        iam.Grant.add_to_principal(
            grantee=grantee, actions=["kms:Decrypt"], resource_arns=[self._key.key_arn]
        )


class Tables(Construct):
    """The four tables, and who may do what with them."""

    def __init__(self, scope: Construct, id: str, *, key: kms.IKey, removal: RemovalPolicy) -> None:
        super().__init__(scope, id)
        text, number = dynamodb.AttributeType.STRING, dynamodb.AttributeType.NUMBER
        self.leases = TurnTable(self, "Leases", key=key, removal=removal, sort=None)
        self.connections = TurnTable(self, "Connections", key=key, removal=removal, sort=text)
        self.replay = TurnTable(self, "Replay", key=key, removal=removal, sort=number)
        self.run_flags = TurnTable(self, "RunFlags", key=key, removal=removal, sort=text)

    def grant_accept_turns(self, grantee: iam.IGrantable) -> None:
        """Take a conversation's lease, raise a stop flag, issue tickets, and settle what a dead worker left."""
        self.leases.grant(grantee, "GetItem", "PutItem", "UpdateItem", "DeleteItem")
        self.run_flags.grant(grantee, "PutItem", "DeleteItem")
        self.connections.grant(grantee, "PutItem", "Query", "DeleteItem")
        self.replay.grant(grantee, "Query", "PutItem")

    def grant_hold_sockets(self, grantee: iam.IGrantable) -> None:
        """Use a ticket, keep a socket's subscriptions, and replay what it missed of the run that holds the lease."""
        self.leases.grant(grantee, "GetItem")
        self.connections.grant(
            grantee, "GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "BatchWriteItem"
        )
        self.replay.grant(grantee, "Query")

    def grant_run_turns(self, grantee: iam.IGrantable) -> None:
        """Hold the lease, log envelopes, find the sockets to send to, forget dead ones, heed stop flags."""
        self.leases.grant(grantee, "GetItem", "PutItem", "UpdateItem", "DeleteItem")
        self.replay.grant(grantee, "PutItem", "Query", "BatchWriteItem")
        self.connections.grant(grantee, "Query", "DeleteItem")
        self.run_flags.grant(grantee, "GetItem", "Query", "DeleteItem")
