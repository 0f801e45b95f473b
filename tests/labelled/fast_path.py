"""The labelled questions of the fast path, and what the words make of them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from equerry.domain.catalogue import RouteCatalogue, read_catalogue
from equerry.domain.corpora import Passage
from equerry.domain.fast_path import TAU_HOWTO, TAU_NAV
from equerry.domain.intent_scoring import choose_navigation, choose_section
from equerry.domain.intents import HowToIntent, Intent, NavigateIntent, NoIntent
from equerry.domain.question_forms import find_place, find_task
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId

FILE = Path(__file__).with_name("fast_path.toml")
HINTS = {"projectId": "p-1"}


@dataclass(frozen=True)
class LabelledSet:
    """Questions by what a careful person would want done with each."""

    catalogue: RouteCatalogue
    sections: tuple[Passage, ...]
    first: dict[str, str]
    second: dict[str, str]
    held: dict[str, str]


def read_labelled_set() -> LabelledSet:
    """Return the set as it is kept."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    sections = tuple(
        build_section(article["id"], article["title"], section["heading"], section["text"])
        for article in data["articles"]
        for section in article["sections"]
    )
    return LabelledSet(
        catalogue=read_catalogue("labelled", data["catalogue"]),
        sections=sections,
        first=data["first"],
        second=data["second"],
        held=data["held"],
    )


def classify(
    labelled: LabelledSet, question: str, *, go: float = TAU_NAV, help_: float = TAU_HOWTO
) -> Intent:
    """Return what the words say, every section being a candidate."""
    if (place := find_place(question)) is not None:
        return choose_navigation(labelled.catalogue.list_offered(), place, HINTS, least=go)
    if (task := find_task(question)) is not None:
        return choose_section(labelled.sections, task, least=help_)
    return NoIntent(reason="other_form")


def describe(intent: Intent) -> str:
    """Return an intent the way the labels say it."""
    match intent:
        case NavigateIntent(route=route):
            return f"go {route.route_id}"
        case HowToIntent(section=section):
            return f"help {section.document_id}#{''.join(section.heading_path[-1:])}"
        case NoIntent():
            return "model"


def build_section(document: str, title: str, heading: str, text: str) -> Passage:
    """Return a section of a help article; a blank heading stands for its preamble."""
    return Passage(
        passage_id=PassageId(f"{document}/{heading}"),
        document_id=DocumentId(document),
        corpus_id=CorpusId("help"),
        title=title,
        heading_path=(heading,) if heading else (),
        text=text,
        source_path=f"{document}.md",
        version=1,
        token_count=40,
    )
