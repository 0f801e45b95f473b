"""How our values lie in DynamoDB items: instants as whole microseconds, so that they come back exact."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from equerry.domain.principal import Principal, Role, Scope
from equerry.kernel.identifiers import OrganisationId, ProjectId, UserId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

    Item = dict[str, AttributeValueTypeDef]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def text(value: str) -> "AttributeValueTypeDef":
    """Return a string attribute."""
    return {"S": value}


def number(value: int) -> "AttributeValueTypeDef":
    """Return a number attribute."""
    return {"N": str(value)}


def instant(moment: datetime) -> "AttributeValueTypeDef":
    """Return an aware moment as microseconds since 1970."""
    return number((moment - _EPOCH) // _MICROSECOND)


def forget_after(moment: datetime) -> "AttributeValueTypeDef":
    """Return a moment as `expires_at`: whole seconds since 1970, after which DynamoDB may drop the item."""
    return number(-((_EPOCH - moment) // timedelta(seconds=1)))


def read_text(item: "Mapping[str, Any]", name: str) -> str:
    """Return a string attribute's value."""
    return str(item[name]["S"])


def read_number(item: "Mapping[str, Any]", name: str) -> int:
    """Return a number attribute's value."""
    return int(item[name]["N"])


def read_instant(item: "Mapping[str, Any]", name: str) -> datetime:
    """Return the moment that `instant` wrote, in UTC."""
    return _EPOCH + read_number(item, name) * _MICROSECOND


def scope_attributes(scope: Scope) -> "Item":
    """Return a scope as attributes of an item."""
    return {
        "organisation_id": text(scope.organisation_id),
        "user_id": text(scope.user_id),
        "user_role": text(scope.role),
        "project_ids": {"L": [text(project) for project in scope.project_ids]},
    }


def read_scope(item: "Mapping[str, Any]") -> Scope:
    """Return the scope that `scope_attributes` wrote."""
    return Scope(
        organisation_id=OrganisationId(read_text(item, "organisation_id")),
        user_id=UserId(read_text(item, "user_id")),
        role=cast("Role", read_text(item, "user_role")),
        project_ids=tuple(ProjectId(entry["S"]) for entry in item["project_ids"]["L"]),
    )


def principal_attributes(principal: Principal) -> "Item":
    """Return a principal as attributes of an item."""
    item = scope_attributes(principal.scope) | {"token_until": instant(principal.expires_at)}
    return item if principal.name is None else item | {"user_name": text(principal.name)}


def read_principal(item: "Mapping[str, Any]") -> Principal:
    """Return the principal that `principal_attributes` wrote."""
    return Principal(
        scope=read_scope(item),
        expires_at=read_instant(item, "token_until"),
        name=read_text(item, "user_name") if "user_name" in item else None,
    )
