"""The VPC: a new one, or one that is there already."""

from aws_cdk import Fn, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.config import ExistingNetwork, NewNetwork, StageConfig
from infra.functions import Placement
from infra.log_groups import expiring_log_group
from infra.nag import acknowledge


class Network(Construct):
    """Private subnets with a way out, and the security group that functions carry."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: NewNetwork | ExistingNetwork,
        key: kms.IKey,
        config: StageConfig,
    ) -> None:
        super().__init__(scope, id)
        if isinstance(network, ExistingNetwork):
            self.vpc = self._existing(network)
        else:
            self.vpc = self._new(network, key=key, config=config)
        self.private = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
        existing = isinstance(network, ExistingNetwork)
        self.data = (
            self.private if existing else ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
        )
        self.functions = ec2.SecurityGroup(
            self, "Functions", vpc=self.vpc, description="Equerry functions: out to the database and to AWS"
        )

    def placement(self) -> Placement:
        """Where functions that reach the database run."""
        return Placement(vpc=self.vpc, subnets=self.private, security_group=self.functions)

    def _existing(self, network: ExistingNetwork) -> ec2.IVpc:
        vpc = ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=network.vpc_id,
            availability_zones=list(network.availability_zones),
            private_subnet_ids=list(network.private_subnet_ids),
        )
        for subnet in vpc.private_subnets:
            acknowledge(
                subnet,
                "annotation::@aws-cdk/aws-ec2:noSubnetRouteTableId",
                reason="Only gateway endpoints need route tables, and only a VPC of our own has them",
            )
        return vpc

    def _new(self, network: NewNetwork, *, key: kms.IKey, config: StageConfig) -> ec2.IVpc:
        vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(network.cidr),
            # By position, not by name: naming them would need a look-up in the account at synth.
            availability_zones=[Fn.select(zone, Fn.get_azs(Stack.of(self).region)) for zone in (0, 1)],
            nat_gateways=1,
            restrict_default_security_group=False,  # would add a custom resource; nothing uses that group
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="Public", subnet_type=ec2.SubnetType.PUBLIC, map_public_ip_on_launch=False
                ),
                ec2.SubnetConfiguration(name="Private", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS),
                ec2.SubnetConfiguration(name="Data", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
            ],
            gateway_endpoints={
                "S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3),
                "DynamoDb": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.DYNAMODB),
            },
        )
        logs = expiring_log_group(self, "FlowLogs", key=key, config=config)
        vpc.add_flow_log(
            "Rejected",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(logs),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )
        return vpc
