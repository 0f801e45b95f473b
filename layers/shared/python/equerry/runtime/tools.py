"""Which tools a profile's names stand for, bound to the person of the turn."""

from functools import partial
from typing import Protocol

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.search import PostgresLexicalIndexAdapter, PostgresVectorStoreAdapter
from equerry.domain.evidence import Evidence
from equerry.domain.principal import Scope
from equerry.domain.profiles import Profile
from equerry.domain.retrieval import Retrieval
from equerry.engine.tool import Tool
from equerry.packs.docs.lookup import LookupDocsTool
from equerry.packs.docs.passages import PassageFinder
from equerry.packs.docs.search import SearchDocsTool
from equerry.runtime.embeddings import build_embedding
from equerry.services.answering import BuildTools
from equerry.services.retrieval import RetrievalService
from equerry.services.switching import ToolSwitchService

PACKS = {"search_docs": "docs", "lookup_docs": "docs"}
"""Which folder of `equerry.packs` each tool comes from."""


class ToolSettings(Protocol):
    """What a function that searches reads from its environment."""

    @property
    def embedding_provider(self) -> str: ...


def derive_pack(tool: str) -> str:
    """Return the name of the pack that a tool comes in; blank for no tool of ours."""
    return PACKS.get(tool, "")


def build_tool_registry(
    database: PostgresConnections, settings: ToolSettings, tool_switches: ToolSwitchService
) -> BuildTools:
    """Return what builds a turn's tools, those that are on.

    Raises:
        ValueError: an unknown embedding provider; later, a profile that names an unknown tool.
    """
    service = RetrievalService(
        documents=PostgresDocumentAdapter(database),
        vectors=PostgresVectorStoreAdapter(database),
        words=PostgresLexicalIndexAdapter(database),
        embedding=build_embedding(settings.embedding_provider),
    )
    return partial(_build_tools, service, tool_switches)


def _build_tools(
    service: RetrievalService,
    tool_switches: ToolSwitchService,
    profile: Profile,
    scope: Scope,
    evidence: Evidence,
    nonce: str,
) -> tuple[Tool, ...]:
    def search(query: str, limit: int) -> Retrieval:
        return service.search(scope, query, corpora=profile.corpora, limit=limit)

    def lookup(terms: str, limit: int) -> Retrieval:
        return service.lookup(scope, terms, corpora=profile.corpora, limit=limit)

    tools: tuple[Tool, ...] = (
        SearchDocsTool(PassageFinder(search=search, evidence=evidence, nonce=nonce)),
        LookupDocsTool(PassageFinder(search=lookup, evidence=evidence, nonce=nonce)),
    )
    known = {tool.spec.name: tool for tool in tools}
    unknown = [name for name in profile.tools if name not in known]
    if unknown:
        raise ValueError(f"profile {profile.name!r} names unknown tools {unknown}; known are {sorted(known)}")
    return tool_switches.offer(tuple(known[name] for name in profile.tools))
