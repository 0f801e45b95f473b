"""HTML through Beautiful Soup: the main content alone, without navigation and other furniture."""

from typing import TYPE_CHECKING

from equerry.adapters.extraction.outline import Extracted, Outline, clean_line, fence_code
from equerry.ports.extraction import UnreadableDocument

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_DROPPED = (
    "script, style, noscript, template, nav, header:not(:has(h1)), footer, aside, form, button, svg, iframe,"
    " [hidden], [role=navigation], [role=search], [role=banner], [role=contentinfo], .headerlink,"
    " .sphinxsidebar"
)
# Lists of links to other pages, which answer nothing; a page that has nothing else keeps them.
_CONTENTS = ".toctree-wrapper"
_MAIN = ("main", "[role=main]", "article", "body")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    (
        *(
            "address",
            "article",
            "blockquote",
            "body",
            "dd",
            "details",
            "div",
            "dl",
            "dt",
            "fieldset",
            "figcaption",
        ),
        *("figure", "header", "hr", "li", "main", "ol", "p", "section", "summary", "ul"),
    )
)


def read_html(content: bytes, *, path: str) -> Extracted:
    """Read a page; its first top heading names it, else its title element."""
    try:
        return _read(content, path, dropped=f"{_DROPPED}, {_CONTENTS}")
    except UnreadableDocument:
        return _read(content, path, dropped=_DROPPED)
    except RecursionError:
        raise UnreadableDocument("the page is nested too deeply to be read") from None


def _read(content: bytes, path: str, *, dropped: str) -> Extracted:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(content, "html.parser")
    named = soup.title.get_text() if soup.title else None
    main = _find_main(soup)
    for element in main.select(dropped):
        element.decompose()
    heading = main.find("h1")
    outline = Outline(path)
    _Reader(outline).read(main)
    return outline.finish(title=clean_line(heading.get_text()) if heading else named)


def _find_main(soup: "BeautifulSoup") -> "Tag":
    for selector in _MAIN:
        found = soup.select_one(selector)
        if found and found.get_text(strip=True):
            return found
    return soup


class _Reader:
    """Walks the tree: inline text gathers until a block begins or ends."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._inline: list[str] = []
        self._mark = ""

    def read(self, element: "Tag") -> None:
        """Read an element's content as a block of its own."""
        self._walk(element)
        self._flush()

    def _walk(self, element: "Tag") -> None:
        from bs4 import NavigableString, Tag

        for child in element.children:
            if isinstance(child, Tag):
                self._read_element(child)
            elif type(child) is NavigableString:  # comments and doctypes are subclasses
                self._inline.append(str(child))

    def _read_element(self, element: "Tag") -> None:
        name = element.name
        if name in _HEADINGS:
            self._flush()
            self._outline.open_section(_HEADINGS[name], element.get_text())
        elif name == "pre":
            self._flush()
            self._outline.add_block(fence_code(element.get_text()))
        elif name == "table":
            self._flush()
            self._outline.add_block("\n".join(_read_rows(element)))
        elif name in _BLOCKS:
            self._flush()
            self._mark = "- " if name == "li" else self._mark
            self.read(element)
        elif name == "br":
            self._inline.append(" ")
        else:
            self._walk(element)

    def _flush(self) -> None:
        text = clean_line("".join(self._inline))
        self._inline = []
        if text:
            self._outline.add_block(self._mark + text)
            self._mark = ""


def _read_rows(table: "Tag") -> list[str]:
    rows = (
        [clean_line(cell.get_text(" ")) for cell in row.find_all(["td", "th"], recursive=False)]
        for row in table.find_all("tr")
    )
    return [" | ".join(cells) for cells in rows if any(cells)]
