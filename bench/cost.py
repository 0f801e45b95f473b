"""What a deployment costs at AWS list prices, model usage aside: idle for a month, and for 1,000 turns.

    python -m bench.cost [TEMPLATE]     the production stage, synthesised here unless a template is given

Idle is counted in the synthesised template; a turn is run once over moto and its calls are counted. What
neither can tell is an assumption below. Prices are in bench/prices.toml.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from equerry.ports.metrics import MetricName, TurnShape

from bench.turn_calls import TurnCalls, count_turn
from local.places import ROOT

Prices = Mapping[str, Any]
Resources = Mapping[str, Mapping[str, Any]]
Lines = dict[str, float]

# Assumed, because nothing here can measure it.
HTTP_S = 0.08
"""The HTTP function's billed time for one question, and the WebSocket function's for one frame."""
REAPER_S = 0.15
CONNECTED_MINUTES = 5.0
"""A page is open this long for each question."""
TURNS_A_VISIT = 5
"""A visit opens one conversation, asks for one ticket and opens one socket."""
IO_REQUESTS = 60
"""Reads and writes of Aurora's storage for one turn."""
WAKES_A_MONTH, AWAKE_UNITS, SWEEP_S = 4.35, 1.0, 60
"""The weekly sweep wakes a database that paused; it stays awake until it may pause again."""
LOG_KB = 15.0
"""Written by all functions and both APIs for one turn."""
NAT_KB_A_FRAME = 2.0
MODEL_KB = 60.0
POLLERS, POLLS_A_MINUTE = 5, 3
"""Lambda's long polls of a queue that is empty, 20 s each."""
SPLIT_METRICS = 8
"""Of each profile with its model, and of each shape of turn, beside the stage's own."""


def main(template: Path | None) -> None:
    """Measure and print."""
    prices: Prices = tomllib.loads((Path(__file__).parent / "prices.toml").read_text(encoding="utf-8"))
    resources = _read(template) if template else _synthesise()
    print(f"prices: {prices['region']}, noted {prices['noted']}\n")
    idle = price_idle(resources, prices)
    _show("idle, USD a month", idle)
    aurora = sum(idle[name] for name in idle if name.startswith("Aurora"))
    least = 0.5 * prices["aurora"]["capacity_unit_hour"] * prices["hours_a_month"]
    print(f"  with database.min_capacity = 0.5:       {sum(idle.values()) - aurora + least:.2f}")
    network = sum(idle[name] for name in idle if name.startswith(("NAT", "public")))
    print(f"  in a network that is there already:     {sum(idle.values()) - network:.2f}\n")
    splits = 1 + len(get_args(TurnShape))
    metrics = (len(get_args(MetricName)) + splits * SPLIT_METRICS) * prices["cloudwatch"]["metric_month"]
    print(f"in use: {metrics:.2f} USD a month more for metrics, with one profile and one model\n")
    calls = count_turn()
    _tell(calls)
    _show("1,000 turns, USD", price_turns(calls, resources, prices, turns=1000))


def price_idle(resources: Resources, prices: Prices) -> Lines:
    """Return what is paid while nobody asks anything, by the month."""
    hours, watch = prices["hours_a_month"], prices["cloudwatch"]
    units = _sum(resources, "AWS::RDS::DBInstance", lambda _: 1.0) * _sum(
        resources, "AWS::RDS::DBCluster", lambda p: p["ServerlessV2ScalingConfiguration"]["MinCapacity"]
    )
    unit_hour = prices["aurora"]["capacity_unit_hour"]
    awake = _sum(resources, "AWS::RDS::DBCluster", _awake_hours) * WAKES_A_MONTH * AWAKE_UNITS
    rounds = hours * 60
    reaper = rounds * (
        REAPER_S * _memory_gb(resources, "worker.reaper.handle") * prices["lambda_"]["gb_second"]
    )
    sources = _sum(resources, "AWS::Lambda::EventSourceMapping", lambda _: 1.0)
    polls = sources * POLLERS * POLLS_A_MINUTE * 60 * hours
    return {
        f"Aurora, {units:g} capacity units": units * unit_hour * hours,
        "Aurora, awake for the weekly sweep": awake * unit_hour,
        "NAT gateway": _sum(resources, "AWS::EC2::NatGateway", lambda _: 1.0)
        * prices["network"]["nat_gateway_hour"]
        * hours,
        "public address of the NAT gateway": _sum(resources, "AWS::EC2::EIP", lambda _: 1.0)
        * prices["network"]["public_address_hour"]
        * hours,
        "dashboard": _sum(resources, "AWS::CloudWatch::Dashboard", lambda _: watch["dashboard_month"]),
        "alarms": _sum(resources, "AWS::CloudWatch::Alarm", lambda _: watch["alarm_month"]),
        "polls of empty queues": polls * prices["sqs"]["request"],
        "secrets": _sum(
            resources, "AWS::SecretsManager::Secret", lambda _: prices["secrets_manager"]["secret_month"]
        ),
        "key": _sum(resources, "AWS::KMS::Key", lambda _: prices["kms"]["key_month"]),
        "reaper": reaper
        + rounds
        * (prices["lambda_"]["request"] + prices["xray"]["trace"] + prices["dynamodb"]["read_unit"] / 2),
    }


def _awake_hours(cluster: Mapping[str, Any]) -> float:
    """Return how long one wake lasts; 0 for a database that never pauses."""
    pause_s = cluster["ServerlessV2ScalingConfiguration"].get("SecondsUntilAutoPause", 0)
    return (pause_s + SWEEP_S) / 3600 if pause_s else 0.0


def price_turns(calls: TurnCalls, resources: Resources, prices: Prices, *, turns: int) -> Lines:
    """Return what so many turns add, model usage aside."""
    visits, second = 1 / TURNS_A_VISIT, prices["lambda_"]["gb_second"]
    http_calls, socket_frames = 1 + 2 * visits, 1 + 2 * visits
    invocations = 1 + http_calls + socket_frames
    quick_gb_s = HTTP_S * (
        http_calls * _memory_gb(resources, "turn.http.handle")
        + socket_frames * _memory_gb(resources, "turn.websocket.handle")
    )
    worker_gb_s = calls.worker_s * _memory_gb(resources, "worker.handler.handle")
    nat_gb = (calls.frames * NAT_KB_A_FRAME + MODEL_KB) / 1e6
    once = {
        "worker": worker_gb_s * second,
        "socket messages": (calls.frames + socket_frames) * prices["websocket_api"]["message"],
        "DynamoDB writes": calls.write_units * prices["dynamodb"]["write_unit"],
        "DynamoDB reads": calls.read_units * prices["dynamodb"]["read_unit"],
        "entry functions": quick_gb_s * second,
        "X-Ray, every call traced": invocations * prices["xray"]["trace"],
        "Aurora's storage": IO_REQUESTS * prices["aurora"]["io_request"],
        "NAT gateway, data": nat_gb * prices["network"]["nat_gb"],
        "logs": LOG_KB / 1e6 * prices["cloudwatch"]["log_gb"],
        "data out": calls.frame_bytes / 1e9 * prices["network"]["out_gb"],
        "KMS": prices["kms"]["request"],
        "queue": calls.queue_requests * prices["sqs"]["fifo_request"],
        "HTTP API": http_calls * prices["http_api"]["request"],
        "open sockets": CONNECTED_MINUTES * prices["websocket_api"]["connection_minute"],
        "invocations": invocations * prices["lambda_"]["request"],
    }
    return {name: amount * turns for name, amount in once.items()}


def _sum(resources: Resources, kind: str, amount: Callable[[Mapping[str, Any]], float]) -> float:
    return sum(amount(r.get("Properties", {})) for r in resources.values() if r["Type"] == kind)


def _memory_gb(resources: Resources, handler: str) -> float:
    found: Iterable[Mapping[str, Any]] = (r.get("Properties", {}) for r in resources.values())
    (memory,) = (p["MemorySize"] for p in found if p.get("Handler") == handler)
    return float(memory) / 1024


def _synthesise() -> Resources:
    with tempfile.TemporaryDirectory() as folder:
        command = ["node_modules/.bin/cdk", "synth", "--quiet", "-c", "stage=production", "--output", folder]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return _read(Path(folder) / "Equerry-production.template.json")


def _read(template: Path) -> Resources:
    found: Resources = json.loads(template.read_text(encoding="utf-8"))["Resources"]
    return found


def _tell(calls: TurnCalls) -> None:
    told = ", ".join(f"{name} {count}" for name, count in calls.operations.most_common())
    print(f"one turn: worker {calls.worker_s:.1f} s, {calls.frames} frames of {calls.frame_bytes:,} bytes")
    print(f"  {told}; {calls.write_units:g} write units, {calls.read_units:g} read units\n")


def _show(title: str, lines: Lines) -> None:
    print(title)
    for name, amount in sorted(lines.items(), key=lambda line: -line[1]):
        print(f"  {name:36}{amount:9.4f}")
    print(f"  {'together':36}{sum(lines.values()):9.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
