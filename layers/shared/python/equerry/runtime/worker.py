"""Wires the worker, which runs turns off the queue."""

import os
from collections.abc import Mapping
from functools import partial
from json import loads
from pathlib import Path
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.adapters.aws.provider_health import DynamoProviderHealthAdapter
from equerry.adapters.aws.queue import SqsQueueAdapter
from equerry.adapters.filesystem.profiles import FolderProfileAdapter
from equerry.domain.execution import fit_worker
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.runtime.database import require_database
from equerry.runtime.delivery_parts import build_delivery_parts
from equerry.runtime.gateway import build_gateway, list_gateway_parameters
from equerry.runtime.minting import new_nonce
from equerry.runtime.models import build_prices
from equerry.runtime.observability import logger
from equerry.runtime.parameters import build_limits, build_switch, list_parameters, open_parameters
from equerry.runtime.settings import WorkerSettings
from equerry.runtime.tools import build_tool_registry, derive_pack
from equerry.runtime.tracing import enter_trace, find_trace_id
from equerry.runtime.turn_parts import build_turn_parts
from equerry.services.answering import AnswerService
from equerry.services.pulse import PulseService
from equerry.services.runs import RunService
from equerry.services.switching import ToolSwitchService


class WorkerApp:
    """Executes the runs of a batch; each is reported on its own."""

    def __init__(self, service: RunService) -> None:
        self._service = service
        self._processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Handle one SQS event."""
        return dict(
            process_partial_response(
                event=event, record_handler=self._run, processor=self._processor, context=context
            )
        )

    def _run(self, record: SQSRecord) -> None:
        body = loads(record.body)
        run_id = RunId(body["runId"])
        conversation_id = ConversationId(record.attributes.message_group_id or "")
        enter_trace(body.get("traceparent"))
        logger.append_keys(run_id=run_id)
        try:
            handling = self._service.execute(run_id, conversation_id, receipt=record.receipt_handle)
        except Exception:
            # The rim: the batch processor only counts failures, and this one needs its trace.
            logger.exception("run_failed")
            raise
        logger.info("run_handled", extra={"handling": handling})


def build_worker_app(environ: Mapping[str, str] = os.environ) -> WorkerApp:
    """Return the app of the worker function."""
    settings = WorkerSettings.from_env(environ)
    parts = build_turn_parts(settings)
    deliveries = build_delivery_parts(settings, parts)
    require_database(parts.database)
    interrupts = DynamoInterruptAdapter(parts.clients.dynamodb, settings.run_flags_table, parts.clock)
    admissions = parts.build_admissions(settings)
    switch = build_switch(settings, open_parameters(), parts.metrics)
    open_parameters().preload((*list_parameters(settings, switch), *list_gateway_parameters(settings)))
    tool_switches = ToolSwitchService(switch=switch, pack_of=derive_pack)
    gateway = build_gateway(
        settings,
        parts.clients,
        parts.clock,
        parameters=open_parameters(),
        store=DynamoProviderHealthAdapter(parts.clients.dynamodb, settings.run_flags_table),
        switch=switch,
        metrics=parts.metrics,
    )
    answers = AnswerService(
        transcripts=parts.transcripts,
        runs=parts.kept_runs,
        profiles=FolderProfileAdapter(Path(settings.profiles_path)),
        model=gateway.open("conversational"),
        endings=deliveries.build_endings(
            admissions,
            most_retrieved_characters=settings.most_retrieved_characters,
            prices=build_prices(settings),
        ),
        release=f"{settings.equerry_version}+{settings.equerry_commit}",
        find_trace_id=find_trace_id,
        build_tools=build_tool_registry(parts.database, settings, tool_switches),
        find_degraded=tool_switches.list_degraded,
        find_stand_in=partial(gateway.find_stand_in, "conversational"),
        new_nonce=new_nonce,
        limits=fit_worker(build_limits(settings, open_parameters()), settings.worker_timeout_s),
        clock=parts.clock,
    )
    pulses = PulseService(
        leases=parts.leases,
        interrupts=interrupts,
        queue=SqsQueueAdapter(parts.clients.sqs, settings.turn_queue_url),
        clock=parts.clock,
    )
    service = RunService(
        runs=parts.kept_runs,
        leases=parts.leases,
        interrupts=interrupts,
        answers=answers,
        recovery=deliveries.build_recovery(interrupts, admissions),
        pulses=pulses,
        clock=parts.clock,
    )
    return WorkerApp(service)
