"""How far a run has come: its thread, its text, and what its rounds took."""

from dataclasses import dataclass, field

from equerry.engine.estimates import estimate_blocks, estimate_thread
from equerry.engine.model import ModelChoice
from equerry.engine.played_round import PlayedRound
from equerry.engine.thread import Thread
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.usage import Usage


@dataclass(slots=True)
class RunProgress:
    """A run so far.

    Attributes:
        instructions: estimated input of what every round repeats.
        calibration: what the provider counted in the last round, to what had been estimated.
        begun_at: how long the text was when the round under way began.
        call_ids: of every call in the thread.
    """

    thread: Thread
    deadline_s: float
    instructions: int
    calibration: float = 1.0
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    unmetered: Usage = field(default_factory=Usage)
    rounds: int = 0
    tool_calls: int = 0
    opens_round: bool = False
    begun_at: int = 0
    call_ids: set[ToolCallId] = field(default_factory=set)

    def begin_round(self) -> None:
        """The next request is about to leave."""
        self.rounds += 1
        self.begun_at = len(self.text)
        self.opens_round = bool(self.text)

    def begin_anew(self, played: PlayedRound, model: ModelChoice) -> None:
        """The round under way is thrown away, and what it cost is estimated; `model` plays it now."""
        discarded = played.begin_anew(model)
        self.unmetered += Usage(input_tokens=self.expect_input(), output_tokens=estimate_blocks(discarded))
        self.text = self.text[: self.begun_at]
        self.opens_round = bool(self.text)

    def expect_input(self) -> int:
        """Return about how many input tokens a round over the thread has."""
        return round((self.instructions + estimate_thread(self.thread)) * self.calibration)

    def add_text(self, text: str) -> str:
        """Return more of the answer as it is said: apart from an earlier round's by a blank line."""
        if self.opens_round and text.strip():
            self.opens_round = False
            text = "\n\n" + text.lstrip()
        self.text += text
        return text

    def keep(self, played: PlayedRound) -> None:
        """Put in what a round brought, also when it broke off."""
        played.close(self.call_ids)
        expected = self.expect_input()
        if played.end is None or not played.end.metered:
            self.unmetered += Usage(input_tokens=expected, output_tokens=estimate_blocks(played.blocks))
        else:
            self.usage += played.end.usage
            self.calibration *= (played.end.usage.input_tokens or expected) / max(1, expected)
        if played.kept:
            self.thread = self.thread.answer(*played.kept)
