"""What a question's words say it is after: a page of the catalogue, a section of the help, or neither."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from equerry.domain.catalogue import ProductRoute
from equerry.domain.fast_path import FastPath
from equerry.domain.intent_scoring import choose_navigation, choose_section, find_mentioned
from equerry.domain.intents import HowToIntent, Intent, NoIntent
from equerry.domain.principal import Scope
from equerry.domain.question_forms import find_place, find_task
from equerry.ports.catalogues import CataloguePort
from equerry.ports.search import LexicalIndexPort

CANDIDATES = 12
"""Sections that are scored: the index ranks by words, and the best section is among its first few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordIntentService:
    """Classifies by words alone.

    Attributes:
        words: must answer or give up soon: a person waits for the acknowledgement.
    """

    catalogues: CataloguePort
    words: LexicalIndexPort

    def classify(self, scope: Scope, fast_path: FastPath, question: str, hints: Mapping[str, str]) -> Intent:
        """Return what a question is after; only a question of the how-to form asks the index, and once.

        Raises:
            UnknownCatalogue, InvalidCatalogue: the profile names one that cannot be used.
            Unavailable: the index does not answer in time.
        """
        place, task = find_place(question), find_task(question)
        if place is not None and fast_path.catalogue:
            return choose_navigation(self._list_routes(fast_path), place, hints, least=fast_path.navigate_at)
        if task is not None and fast_path.help:
            return self._find_section(scope, fast_path, task, hints)
        return NoIntent(reason="other_form")

    def _find_section(
        self, scope: Scope, fast_path: FastPath, task: str, hints: Mapping[str, str]
    ) -> HowToIntent | NoIntent:
        found = self.words.find_matching(scope, task, corpora=fast_path.help, limit=CANDIDATES)
        chosen = choose_section((section for section, _ in found), task, least=fast_path.how_to_at)
        if isinstance(chosen, NoIntent):
            return chosen
        routes = self._list_routes(fast_path)
        return replace(chosen, place=find_mentioned(routes, task, hints, least=fast_path.navigate_at))

    def _list_routes(self, fast_path: FastPath) -> tuple[ProductRoute, ...]:
        if fast_path.catalogue is None:
            return ()
        return self.catalogues.fetch_catalogue(fast_path.catalogue).list_offered()
