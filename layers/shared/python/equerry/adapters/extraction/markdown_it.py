"""Markdown through markdown-it-py."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from equerry.adapters.extraction.decoding import decode
from equerry.adapters.extraction.outline import Extracted, Outline, fence_code

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n(.*?)\r?\n\1[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title\s*[:=]\s*(.+?)\s*$", re.MULTILINE)
_ANCHOR = re.compile(r"\s*\{#[\w.-]+\}\s*$")
_TAG = re.compile(r"<!--.*?-->|<[^<>]+>", re.DOTALL)


def read_markdown(content: bytes, *, path: str) -> Extracted:
    """Read Markdown; front matter gives at most the title."""
    from markdown_it import MarkdownIt

    text = decode(content)
    front = _FRONT_MATTER.match(text)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    outline = Outline(path)
    tokens = iter(parser.parse(text[front.end() :] if front else text))
    for token in tokens:
        _read_block(token, tokens, outline)
    title = _TITLE.search(front[2]) if front else None
    return outline.finish(title=title[1].strip("'\"") if title else None)


def _read_block(token: "Token", tokens: Iterator["Token"], outline: Outline) -> None:
    match token.type:
        case "heading_open":
            heading = _ANCHOR.sub("", _plain(next(tokens)))
            outline.open_section(int(token.tag[1:]), heading)
        case "fence" | "code_block":
            outline.add_block(fence_code(token.content))
        case "bullet_list_open" | "ordered_list_open":
            outline.add_block("\n".join(_read_list(tokens)))
        case "table_open":
            outline.add_block("\n".join(_read_table(tokens)))
        case "html_block":
            outline.add_block(_TAG.sub("", token.content))
        case "inline":
            outline.add_block(_plain(token))
        case _:
            return


def _read_list(tokens: Iterator["Token"]) -> Iterator[str]:
    """Yield the list's lines, items marked and nested ones indented; code in an item keeps its fence."""
    depth, mark = 1, "- "
    for token in tokens:
        depth += token.nesting if token.type.endswith(("list_open", "list_close")) else 0
        if depth == 0:
            return
        indent = "  " * (depth - 1)
        if token.type == "list_item_open":
            mark = f"{token.info}{token.markup} " if token.info else "- "
        elif token.type == "inline":
            yield f"{indent}{mark}{_plain(token)}"
            mark = "  "
        elif token.type in ("fence", "code_block"):
            yield from fence_code(token.content).split("\n")


def _read_table(tokens: Iterator["Token"]) -> Iterator[str]:
    row: list[str] = []
    for token in tokens:
        if token.type == "inline":
            row.append(_plain(token))
        elif token.type == "tr_close":
            yield " | ".join(row)
            row = []
        elif token.type == "table_close":
            return


def _plain(token: "Token") -> str:
    """Return the words of an inline token: no markup, links as their text, images as their description."""
    return "".join(_plain_piece(child) for child in token.children or ())


def _plain_piece(token: "Token") -> str:
    match token.type:
        case "text" | "code_inline":
            return token.content
        case "softbreak":
            return " "
        case "hardbreak":
            return "\n"
        case "image":
            return _plain(token)
        case _:
            return ""
