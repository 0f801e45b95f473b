"""Puts back what the emulator silently drops from the template, and reads it back to be sure.

MiniStack 1.5 creates these resources without these properties. On AWS the template alone does it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from local.aws import Session
from local.errors import PartFailed
from local.places import ACCOUNT, REGION

Properties = Mapping[str, Any]
EXPIRY = {"NoncurrentVersionExpiration", "AbortIncompleteMultipartUpload", "Status", "Id", "Prefix"}


@dataclass(frozen=True, slots=True)
class Found:
    """One resource of the template with its place in the emulator; `properties` hold no references."""

    logical_id: str
    physical_id: str
    properties: Properties


@dataclass(frozen=True, slots=True)
class Restoration:
    """A property the emulator drops: `apply` sets it, `read` returns what is in force in the same form."""

    resource_type: str
    name: str
    apply: Callable[[Session, Found], None]
    read: Callable[[Session, Found], Any]
    wanted: Callable[[Found], Any]


def restore(session: Session, template: Mapping[str, Any], physical_ids: Mapping[str, str]) -> int:
    """Apply every dropped property of the template and read it back; return how many there were.

    Args:
        template: the synthesised CloudFormation template.
        physical_ids: logical to physical identifiers of the deployed stack.

    Raises:
        PartFailed: what is read back differs from the template.
    """
    done = 0
    for logical_id, resource in template["Resources"].items():
        for restoration in RESTORATIONS:
            properties = resource.get("Properties", {})
            if resource["Type"] != restoration.resource_type or restoration.name not in properties:
                continue
            found = Found(logical_id, physical_ids[logical_id], _resolve(properties, physical_ids))
            restoration.apply(session, found)
            wanted, actual = restoration.wanted(found), restoration.read(session, found)
            if wanted != actual:
                raise PartFailed(
                    f"the emulator keeps {restoration.name} of {logical_id} as {actual!r}, not {wanted!r}",
                    "this is a difference between the emulator and the template: see local/restoring.py",
                )
            done += 1
    return done


def _resolve(entry: Any, physical_ids: Mapping[str, str]) -> Any:
    if isinstance(entry, list):
        return [_resolve(item, physical_ids) for item in entry]
    if not isinstance(entry, dict):
        return entry
    if set(entry) == {"Ref"}:
        return physical_ids.get(entry["Ref"], entry["Ref"])
    if set(entry) == {"Fn::GetAtt"}:
        logical_id, attribute = entry["Fn::GetAtt"]
        return _resolve_attribute(logical_id, attribute, physical_ids)
    return {name: _resolve(item, physical_ids) for name, item in entry.items()}


def _resolve_attribute(logical_id: str, attribute: str, physical_ids: Mapping[str, str]) -> str:
    physical_id = physical_ids[logical_id]
    is_key = logical_id.startswith("Key") and attribute == "Arn" and not physical_id.startswith("arn:")
    return f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{physical_id}" if is_key else physical_id


def _apply_ttl(session: Session, found: Found) -> None:
    wanted = _wanted_ttl(found)
    if _read_ttl(session, found) != wanted:
        session.dynamodb.update_time_to_live(
            TableName=found.physical_id, TimeToLiveSpecification={"AttributeName": wanted, "Enabled": True}
        )


def _read_ttl(session: Session, found: Found) -> str | None:
    said = session.dynamodb.describe_time_to_live(TableName=found.physical_id)["TimeToLiveDescription"]
    return said.get("AttributeName") if said.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") else None


def _wanted_ttl(found: Found) -> str:
    return str(found.properties["TimeToLiveSpecification"]["AttributeName"])


def _apply_encryption(session: Session, found: Found) -> None:
    session.dynamodb.update_table(
        TableName=found.physical_id,
        SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": _wanted_key(found)},
    )


def _read_key(session: Session, found: Found) -> str | None:
    table = session.dynamodb.describe_table(TableName=found.physical_id)["Table"]
    return table.get("SSEDescription", {}).get("KMSMasterKeyArn")


def _wanted_key(found: Found) -> str:
    return str(found.properties["SSESpecification"]["KMSMasterKeyId"])


def _apply_cors(session: Session, found: Found) -> None:
    session.gateway.update_api(
        ApiId=found.physical_id, CorsConfiguration=found.properties["CorsConfiguration"]
    )


def _read_cors(session: Session, found: Found) -> dict[str, Any]:
    return dict(session.gateway.get_api(ApiId=found.physical_id).get("CorsConfiguration", {}))


def _apply_throttling(session: Session, found: Found) -> None:
    session.gateway.update_stage(
        ApiId=found.properties["ApiId"],
        StageName=found.properties["StageName"],
        DefaultRouteSettings=found.properties["DefaultRouteSettings"],
    )


def _read_throttling(session: Session, found: Found) -> dict[str, Any]:
    stage = session.gateway.get_stage(
        ApiId=found.properties["ApiId"], StageName=found.properties["StageName"]
    )
    wanted = found.properties["DefaultRouteSettings"]
    kept: Mapping[str, Any] = stage.get("DefaultRouteSettings", {})
    return {name: kept.get(name) for name in wanted}


def _apply_lifecycle(session: Session, found: Found) -> None:
    session.s3.put_bucket_lifecycle_configuration(
        Bucket=found.physical_id, LifecycleConfiguration={"Rules": _wanted_rules(found)}
    )


def _read_rules(session: Session, found: Found) -> list[dict[str, Any]]:
    rules = session.s3.get_bucket_lifecycle_configuration(Bucket=found.physical_id)["Rules"]
    return [{name: entry for name, entry in rule.items() if name != "ID"} for rule in rules]


def _wanted_rules(found: Found) -> list[Any]:
    return [_to_api(rule) for rule in found.properties["LifecycleConfiguration"]["Rules"]]


def _to_api(rule: Properties) -> dict[str, Any]:
    """Return a template's lifecycle rule in the API's words, which differ a little."""
    kept = {name: entry for name, entry in rule.items() if name in EXPIRY - {"Id", "Prefix"}}
    expiration = {}
    if "ExpirationInDays" in rule:
        expiration["Days"] = rule["ExpirationInDays"]
    if rule.get("ExpiredObjectDeleteMarker"):
        expiration["ExpiredObjectDeleteMarker"] = True
    known = EXPIRY | {"ExpirationInDays", "ExpiredObjectDeleteMarker"}
    unknown = sorted(set(rule) - known)
    if unknown:
        raise PartFailed(
            f"lifecycle rules with {', '.join(unknown)} are not put back yet", "extend local/restoring.py"
        )
    if "AbortIncompleteMultipartUpload" in kept:
        kept["AbortIncompleteMultipartUpload"] = dict(kept["AbortIncompleteMultipartUpload"])
    extra = {"Expiration": expiration} if expiration else {}
    return {**kept, **extra, "Filter": {"Prefix": rule.get("Prefix", "")}}


RESTORATIONS = (
    Restoration("AWS::DynamoDB::Table", "TimeToLiveSpecification", _apply_ttl, _read_ttl, _wanted_ttl),
    Restoration("AWS::DynamoDB::Table", "SSESpecification", _apply_encryption, _read_key, _wanted_key),
    Restoration(
        "AWS::ApiGatewayV2::Api",
        "CorsConfiguration",
        _apply_cors,
        _read_cors,
        lambda found: dict(found.properties["CorsConfiguration"]),
    ),
    Restoration(
        "AWS::ApiGatewayV2::Stage",
        "DefaultRouteSettings",
        _apply_throttling,
        _read_throttling,
        lambda found: dict(found.properties["DefaultRouteSettings"]),
    ),
    Restoration("AWS::S3::Bucket", "LifecycleConfiguration", _apply_lifecycle, _read_rules, _wanted_rules),
)
