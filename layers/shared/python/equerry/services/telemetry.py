"""OpenTelemetry's names for what our log lines tell of models and tools, kept in this one place.

They are the GenAI semantic conventions, still in development, as they stood in May 2026. What was said is
never among them: no instructions, no messages, no arguments, no results.
"""

from equerry.domain.completion import CompletionRequest
from equerry.domain.conversations import Run, RunEnd
from equerry.engine.loop_events import ToolFinished
from equerry.engine.model import ModelChoice, RoundStop
from equerry.kernel.usage import Usage
from equerry.services.completion import Completion

Attributes = dict[str, object]


def describe_run(run: Run, end: RunEnd, model: ModelChoice | None) -> Attributes:
    """Return the fields of a run that ended; `model`, the one wanted, is None where none was needed."""
    return {
        "run_id": run.run_id,
        "stop_reason": end.stop_reason,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": run.profile,
        "gen_ai.conversation.id": run.conversation_id,
        **_describe_model(model),
        **_describe_server(end.model or model),
        **_describe_usage(end.usage),
        **_describe_error(end.error_code),
    }


def describe_tool(finished: ToolFinished) -> Attributes:
    """Return the fields of a tool call that ended."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": finished.call.tool,
        "gen_ai.tool.call.id": finished.call.call_id,
        "gen_ai.tool.type": "function",
        "duration_ms": finished.duration_ms,
        **_describe_error(None if finished.ok else "tool_failed"),
    }


def describe_structured_completion(request: CompletionRequest, completion: Completion) -> Attributes:
    """Return the fields of one completion, under the names that its caller knows."""
    return {
        "requestId": request.request_id,
        "workload": request.workload,
        "organisationId": request.organisation_id,
        "provider": completion.model.provider,
        "model": completion.model.model,
        "durationMs": completion.duration_ms,
        "imageCount": len(request.images),
        "documentCount": len(request.documents),
        "usage": {
            "inputTokens": completion.usage.input_tokens,
            "outputTokens": completion.usage.output_tokens,
            "cacheReadTokens": completion.usage.cached_input_tokens,
        },
        **describe_completion(completion.model, "tool_use", completion.usage),
    }


def describe_completion(model: ModelChoice, stop: RoundStop, usage: Usage) -> Attributes:
    """Return the fields of one answer to one input."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.finish_reasons": [stop],
        **_describe_model(model),
        **_describe_usage(usage),
    }


def _describe_model(model: ModelChoice | None) -> Attributes:
    if model is None:
        return {}
    return {"gen_ai.provider.name": model.provider, "gen_ai.request.model": model.model}


def _describe_server(model: ModelChoice | None) -> Attributes:
    """Who really answered, and so whose bill it is."""
    if model is None:
        return {}
    return {"gen_ai.provider.name": model.provider, "gen_ai.response.model": model.model}


def _describe_usage(usage: Usage) -> Attributes:
    # As with ours, their input tokens include those of the cache.
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }


def _describe_error(code: str | None) -> Attributes:
    return {"error.type": code} if code else {}
