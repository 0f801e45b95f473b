"""How long a turn takes on the local stack, from the question to the first word and to `done`.

    python -m bench.stack [QUESTIONS]      20 questions by default, over Fastify's reference manual

Starts a stack of its own on free ports and drops it afterwards. The emulator is not AWS: the figures compare
versions of the code on one machine and say nothing of capacity.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from local.cli.api import Api, Target
from local.cli.following import follow
from local.cli.indexing import Indexer
from local.cli.walking import walk
from local.endpoints import load_endpoints
from local.places import Places
from local.ports import find_free_port
from local.progress import Progress
from local.sample import QUESTION, fetch_sample
from local.stack import Stack
from local.tokens import build_mint, load_people


def main(questions: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        chat, issuer, emulator, postgres = (find_free_port() for _ in range(4))
        places = Places(state=Path(scratch), chat=chat, issuer=issuer, emulator=emulator, postgres=postgres)
        progress = Progress()
        stack = Stack(places, progress)
        try:
            stack.up()
            with _open(places) as api:
                _index(api, places, progress)
                _ask(api, questions)
        finally:
            stack.down()


def _open(places: Places) -> Api:
    endpoints = load_endpoints(places)
    token, _ = build_mint(places).sign(load_people()[0])
    return Api(Target(url=endpoints.http_url, headers=endpoints.headers, token=token))


def _index(api: Api, places: Places, progress: Progress) -> None:
    sources = walk(fetch_sample(places, progress)).sources
    began = time.monotonic()
    Indexer(api=api, corpus="docs", visible_to=(), tell=lambda *_: None).index(sources, prune=False)
    seconds = time.monotonic() - began
    passages = sum(corpus["passages"] for corpus in api.get("/corpora")["corpora"])
    print(f"indexing: {len(sources)} documents, {passages} passages in {seconds:.1f} s")


def _ask(api: Api, questions: int) -> None:
    first, whole = [], []
    for _ in range(questions + 1):
        words, done = _time_one(api)
        first.append(words)
        whole.append(done)
    _print("question to first word", first[1:])  # the first one starts the functions
    _print("question to done", whole[1:])
    print(f"cold: {first[0]:.2f} s to the first word, {whole[0]:.2f} s to done")


def _time_one(api: Api) -> tuple[float, float]:
    conversation = api.post("/conversations", {"title": "bench"})["conversationId"]
    began = time.monotonic()
    run_id = api.post(f"/conversations/{conversation}/messages", {"text": QUESTION})["runId"]
    first = 0.0
    for envelope in follow(api, conversation, run_id):
        if envelope["type"] == "token" and not first:
            first = time.monotonic() - began
    return first, time.monotonic() - began


def _print(name: str, seconds: list[float]) -> None:
    tail = quantiles(seconds, n=20)[-1] if len(seconds) > 1 else seconds[0]
    print(f"{name}: median {median(seconds):.2f} s, 95th percentile {tail:.2f} s, {len(seconds)} questions")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
