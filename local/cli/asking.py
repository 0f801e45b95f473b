"""`equerry ask`: a question, the answer as it is written, and where it comes from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO
from urllib.parse import quote

import typer

from local.cli.api import Api
from local.cli.following import Envelope, follow

GOOD_ENDS = ("end_turn", "max_rounds", "max_tokens")
TITLE_LENGTH = 80
BRACKETS = str.maketrans("⟦⟧", "[]")

Run = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Asks under one identity: progress goes to `status`, the answer to `answer`."""

    api: Api
    status: TextIO
    answer: TextIO
    quiet: bool = False
    follow: Callable[[Api, str, str], Iterator[Envelope]] = follow

    def warn_without_documents(self) -> None:
        """Say how to index where there is nothing to answer from; some questions need no document."""
        if not any(
            corpus["documents"] or corpus["pending"] for corpus in self.api.get("/corpora")["corpora"]
        ):
            whose = f" --user {self.api.target.indexer}" if self.api.target.indexer else ""
            self._say(f"there are no documents to answer from yet\n  → equerry index PATH/TO/A/FOLDER{whose}")

    def ask(self, question: str, conversation_id: str | None) -> Run:
        """Put the question, show the answer while it comes, and return the ended run.

        An interrupt from the keyboard cancels the run before it is passed on.
        """
        conversation = conversation_id or self._open_conversation(question)
        address = f"/conversations/{quote(conversation, safe='')}/messages"
        run_id = str(self.api.post(address, {"text": question})["runId"])
        run_address = f"/runs/{quote(run_id, safe='')}"
        try:
            written = self._show(conversation, run_id)
        except KeyboardInterrupt:
            self.api.post(f"{run_address}/cancel")
            self._say("cancelled")
            self._name(conversation, run_id)
            raise
        run: Run = self.api.get(run_address, wait=25)
        self._finish(run, written)
        self._name(conversation, run_id)
        return run

    def _open_conversation(self, question: str) -> str:
        return str(self.api.post("/conversations", {"title": question[:TITLE_LENGTH]})["conversationId"])

    def _show(self, conversation: str, run_id: str) -> str:
        written = ""
        for envelope in self.follow(self.api, conversation, run_id):
            if envelope["type"] == "token":
                delta = str(envelope["payload"]["delta"])
                written += delta
                self._write(delta)
            elif envelope["type"] == "restart":
                written = str(envelope["payload"]["text"])
                self._say("begun anew; what was written before is void")
                self._write(f"\n\n{written}")
            else:
                self._tell(envelope)
        return written

    def _tell(self, envelope: Envelope) -> None:
        payload = envelope["payload"]
        if envelope["type"] in ("step", "tool_start"):
            self._say(f"· {payload['label']}")
        elif envelope["type"] == "tool_end" and payload.get("summary"):
            self._say(f"  {payload['summary']}")
        elif envelope["type"] == "error":
            self._say(f"✗ {payload['message']}")

    def _finish(self, run: Run, written: str) -> None:
        if self.quiet:
            return
        message = run["message"] or {"text": "", "citations": []}
        if message["text"].strip() != written.strip():
            # Verification may have withdrawn a claim after it was shown; the stored answer is the answer.
            self._write(("\n\nThe answer as it was kept:\n" if written.strip() else "") + message["text"])
        self._write("\n")
        if message["citations"]:
            self._write("\nSources\n")
        for ref in message["citations"]:
            self._write(f"  [{ref['n']}] {describe(ref)}\n      “{' '.join(ref['quote'].split())}”\n")
        if run["stopReason"] not in GOOD_ENDS:
            error = run["error"] or {}
            self._say(
                f"✗ the turn ended early ({run['stopReason']}){': ' + error['message'] if error else ''}"
            )

    def _name(self, conversation: str, run_id: str) -> None:
        """Tell what `--conversation` and `run show` take; the run as JSON has both."""
        if not self.quiet:
            typer.secho(f"conversation {conversation}  run {run_id}", file=self.status, dim=True)

    def _write(self, text: str) -> None:
        if not self.quiet:
            self.answer.write(text.translate(BRACKETS))
            self.answer.flush()

    def _say(self, line: str) -> None:
        self.status.write(f"{line}\n")
        self.status.flush()


def describe(ref: dict[str, Any]) -> str:
    """Return a source as one line: its title, the way to the passage in it, and its path."""
    headings = [heading for heading in ref["headingPath"] if heading != ref["title"]]
    return f"{' › '.join([ref['title'], *headings])} ({ref['sourcePath']})"
