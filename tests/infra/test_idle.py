"""What is paid while nobody asks anything."""

import subprocess
import sys

import pytest

from tests.infra.stages import SynthesisedStage

_WORK = """
from pathlib import Path
import equerry.runtime.worker, equerry.adapters.anthropic.model, psycopg_pool
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.embedded.minilm import MiniLmEmbeddingAdapter

clients = AwsClients()
clients.dynamodb, clients.sqs, clients.secrets, clients.ssm, clients.push("https://socket.invalid")
MiniLmEmbeddingAdapter(threads=1).embed_query("word " * 5_000)
# Of this process alone: getrusage also counts what the process that started it had grown to.
most = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())["VmHWM"]
print(int(most.split()[0]) // 1024)
"""


def test_the_database_pauses_after_an_hour_without_anybody(production: SynthesisedStage) -> None:
    (cluster,) = production.of_type("AWS::RDS::DBCluster").values()

    scaling = cluster["ServerlessV2ScalingConfiguration"]
    assert (scaling["MinCapacity"], scaling["SecondsUntilAutoPause"]) == (0, 3600)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process how much it has used at most")
def test_a_worker_with_all_it_may_load_needs_less_than_half_of_its_memory(
    production: SynthesisedStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    asked = subprocess.run([sys.executable, "-c", _WORK], capture_output=True, text=True, check=True)

    assert int(asked.stdout) < production.functions()["worker.handler.handle"]["MemorySize"] / 2
