"""`make demo`: the main job once, from nothing to a cited answer, and then the stack for you to try."""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TextIO

from local.cli.api import Api, find_target
from local.cli.asking import Asker
from local.cli.indexing import Indexer, Outcome
from local.cli.walking import walk
from local.progress import Progress, Tell
from local.sample import CORPUS, QUESTION, fetch_sample
from local.stack import Stack

USER = "ada"


def run_demo(stack: Stack, progress: Progress, out: TextIO = sys.stdout, *, wait: bool = True) -> None:
    """Start, index, ask, tell how to go on; with `wait`, stay until Ctrl-C and stop what was started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = stack.up()
    try:
        with Api(find_target(USER, _without_deployment(os.environ))) as api:
            _index(api, stack, progress)
            progress.say(f"\nasking: {QUESTION}\n")
            asker = Asker(api=api, status=sys.stderr, answer=out)
            with progress.timed("asking and answering"):
                asker.ask(QUESTION, None)
        out.write(_invite(stack))
        if wait:
            out.write("Ctrl-C stops everything.\n" if started else "Ctrl-C leaves the stack running.\n")
        out.flush()
        if wait:
            signal.pause()
    except KeyboardInterrupt:
        progress.say("")
    finally:
        if started and wait:
            stack.down()


def _index(api: Api, stack: Stack, progress: Progress) -> Outcome:
    folder = fetch_sample(stack.places, progress)
    with progress.step("indexing the sample") as tell:
        indexer = Indexer(api=api, corpus=CORPUS, visible_to=(), tell=_counting(tell))
        outcome = indexer.index(walk(folder).sources, prune=True)
    progress.say(
        f"  {len(outcome.new)} new, {len(outcome.changed)} changed, {len(outcome.unchanged)} unchanged,"
        f" {len(outcome.failed)} failed"
    )
    return outcome


def _without_deployment(environ: Mapping[str, str]) -> dict[str, str]:
    """The sample goes into the stack that was just started, whatever else `equerry` is pointed at."""
    return {name: text for name, text in environ.items() if name not in ("EQUERRY_URL", "EQUERRY_TOKEN")}


def _counting(tell: Tell) -> Callable[[int, int], None]:
    return lambda done, total: tell(f"{done} of {total} documents")


def _invite(stack: Stack) -> str:
    page = stack.places.chat_url
    return f"""
Open the chat page:   {page}

The same by hand:
  .venv/bin/equerry ask "What is a hook?"
  .venv/bin/equerry index PATH/TO/YOUR/FOLDER
  TOKEN=$(.venv/bin/equerry token --user ada --org northwind)
  curl -s -H "Authorization: Bearer $TOKEN" {page}/api/assistant/corpora

"""
