"""Everything that a deployed local stack has kept, store by store, as text to search."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import psycopg

from local.places import Places
from local.postgres import EmbeddedPostgres

Kept = tuple[str, str]
"""A store's name and something that it holds."""


def sweep(places: Places, log_starts: dict[str, int]) -> Iterator[Kept]:
    """Yield all that is kept anywhere; of the logs, what was written after `log_starts`."""
    session = boto3.Session("test", "test", region_name="us-east-1")
    yield from _sweep_log_files(places, log_starts)
    yield from _sweep_tables(places)
    for name, read in (("logs", _sweep_log_groups), ("dynamodb", _sweep_items), ("s3", _sweep_objects)):
        yield from read(session.client(name, endpoint_url=places.aws_url))  # type: ignore[call-overload]
    yield from _sweep_queues(session.client("sqs", endpoint_url=places.aws_url))


def measure_logs(places: Places) -> dict[str, int]:
    """Return how long each log file is now."""
    return {path.name: path.stat().st_size for path in places.logs.glob("*.log")}


def _sweep_log_files(places: Places, starts: dict[str, int]) -> Iterator[Kept]:
    for path in places.logs.glob("*.log"):
        with path.open("rb") as file:
            file.seek(starts.get(path.name, 0))
            yield f"log:{path.stem}", file.read().decode(errors="replace")


def _sweep_log_groups(logs: Any) -> Iterator[Kept]:
    for page in logs.get_paginator("describe_log_groups").paginate():
        for group in page["logGroups"]:
            name = group["logGroupName"]
            for events in logs.get_paginator("filter_log_events").paginate(logGroupName=name):
                for event in events["events"]:
                    yield "log:group", event["message"]


def _sweep_tables(places: Places) -> Iterator[Kept]:
    server = EmbeddedPostgres(places.state / "postgres", places.postgres)
    with psycopg.connect(server.superuser_url) as session:
        tables = session.execute(
            "SELECT schemaname, relname FROM pg_stat_user_tables WHERE relname <> 'assistant_passages'"
        ).fetchall()
        for schema, table in tables:
            for (row,) in session.execute(f'SELECT to_jsonb(t)::text FROM "{schema}"."{table}" t'):
                yield f"postgres:{table}", row


def _sweep_items(dynamo: Any) -> Iterator[Kept]:
    for name in dynamo.list_tables()["TableNames"]:
        for page in dynamo.get_paginator("scan").paginate(TableName=name):
            for item in page["Items"]:
                yield f"dynamodb:{name}", json.dumps(item, default=str)


def _sweep_objects(s3: Any) -> Iterator[Kept]:
    for bucket in s3.list_buckets()["Buckets"]:
        name = bucket["Name"]
        if name.startswith("cdk-"):
            continue
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=name):
            for found in page.get("Contents", []):
                body = s3.get_object(Bucket=name, Key=found["Key"])["Body"].read()
                yield "s3", found["Key"] + body.decode(errors="replace")


def _sweep_queues(sqs: Any) -> Iterator[Kept]:
    for url in sqs.list_queues().get("QueueUrls", []):
        answer = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0, AttributeNames=["All"]
        )
        for message in answer.get("Messages", []):
            yield "sqs", json.dumps(message, default=str)
