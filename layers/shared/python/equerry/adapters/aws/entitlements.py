"""The product's entitlements in its own DynamoDB table, read and never written."""

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from equerry.adapters.aws.attributes import text
from equerry.adapters.aws.errors import aws_errors, error_code
from equerry.domain.billing import Entitlement
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

logger = logging.getLogger(__name__)


class DynamoEntitlementAdapter:
    """EntitlementPort over a table with the key `pk`: `ORG#<organisation>` and `LINK#<link>`.

    An item has `status` (text) and, where it ends, `until` (epoch seconds).
    """

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def find_organisation(self, organisation_id: OrganisationId) -> Entitlement | None:
        """Keep EntitlementPort's promise."""
        return self._find(f"ORG#{organisation_id}")

    def find_link(self, link_id: str) -> Entitlement | None:
        """Keep EntitlementPort's promise."""
        return self._find(f"LINK#{link_id}")

    def _find(self, key: str) -> Entitlement | None:
        try:
            with aws_errors("read an entitlement"):
                answer = self._client.get_item(TableName=self._table, Key={"pk": text(key)})
        except ClientError as error:
            # The table is another stack's: a grant that it lacks is an outage of ours, and no 500.
            if error_code(error) not in ("AccessDeniedException", "ResourceNotFoundException"):
                raise
            logger.exception("entitlement_unreadable")
            raise Unavailable("could not read an entitlement: AWS did not let us") from error
        item = answer.get("Item")
        if item is None:
            return None
        until = item.get("until", {}).get("N")
        return Entitlement(
            status=str(item.get("status", {}).get("S", "")),
            until=None if until is None else datetime.fromtimestamp(float(until), UTC),
        )
