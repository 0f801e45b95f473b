"""The worker fleet: the worker function's own application in threads, fed from the stack's queue.

    python -m bench.load.fleet THREADS      prints what it has handled when its input ends

Stands in for as many Lambda containers, which do not fit into this machine's memory.
"""

import logging
import os
import sys
import threading
from collections import Counter
from typing import Any

import boto3
from botocore.config import Config
from equerry.runtime.worker import WorkerApp, build_worker_app

from tests.chaos.cell import describe_event

THREADS_AN_APPLICATION = 20
"""They share clients and two database connections, which a real container has to itself."""


def main(threads: int) -> None:
    """Work until the input ends."""
    logging.disable(logging.INFO)
    applications = [build_worker_app(os.environ) for _ in range(max(1, threads // THREADS_AN_APPLICATION))]
    config = Config(max_pool_connections=threads, read_timeout=30)
    sqs = boto3.client("sqs", endpoint_url=os.environ["AWS_ENDPOINT_URL"], config=config)
    handled: Counter[str] = Counter()
    over = threading.Event()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # metrics go where nobody reads
    workers = [
        # a batch processor belongs to one thread; what it processes by is shared
        threading.Thread(
            target=_work,
            args=(WorkerApp(vars(applications[n % len(applications)])["_service"]), sqs, handled, over),
        )
        for n in range(threads)
    ]
    out.write("ready\n")
    out.flush()
    sys.stdin.readline()
    for worker in workers:
        worker.start()
    sys.stdin.readline()
    over.set()
    for worker in workers:
        worker.join()
    out.write(f"{dict(handled)}\n")
    out.flush()


def _work(worker: WorkerApp, sqs: Any, handled: Counter[str], over: threading.Event) -> None:
    url = os.environ["TURN_QUEUE_URL"]
    while not over.is_set():
        answer = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=1, WaitTimeSeconds=2, AttributeNames=["All"]
        )
        for message in answer.get("Messages", []):
            failed = worker(describe_event(message), None)["batchItemFailures"]
            handled["failed" if failed else "done"] += 1
            if not failed:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


if __name__ == "__main__":
    main(int(sys.argv[1]))
