"""ExtractionPort: the formats, their headings, and what cannot be read."""

from io import BytesIO

import pytest
from equerry.adapters.extraction.by_suffix import SuffixExtractionAdapter
from equerry.domain.corpora import Section
from equerry.ports.extraction import ExtractionPort, UnreadableDocument
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from tests.fakes.extraction import MemoryExtractionAdapter


@pytest.fixture(params=["memory", "by_suffix"])
def extraction(request: pytest.FixtureRequest) -> ExtractionPort:
    return MemoryExtractionAdapter() if request.param == "memory" else SuffixExtractionAdapter()


@pytest.mark.req("F-IDX-03")
def test_a_text_gives_its_title_and_sections(extraction: ExtractionPort) -> None:
    title, sections = extraction.extract(b"Keys are rotated yearly.", path="ops/keys.txt")

    assert title == "keys"
    assert sections == (Section(heading_path=(), text="Keys are rotated yearly."),)


@pytest.mark.parametrize("content", [b"", b" \n\n\t ", b"\x00\x01\x02"])
def test_what_holds_no_text_is_unreadable(extraction: ExtractionPort, content: bytes) -> None:
    with pytest.raises(UnreadableDocument):
        extraction.extract(content, path="empty.txt")


@pytest.mark.parametrize("path", ["photo.jpeg", "README", "archive.tar.gz"])
def test_an_unknown_format_is_unreadable_and_says_what_is_not(extraction: ExtractionPort, path: str) -> None:
    with pytest.raises(UnreadableDocument, match=r"\.md"):
        extraction.extract(b"text", path=path)


def read(content: str | bytes, path: str) -> tuple[str, tuple[Section, ...]]:
    raw = content.encode() if isinstance(content, str) else content
    return SuffixExtractionAdapter().extract(raw, path=path)


MARKDOWN = """\
---
author: somebody
title: "The handbook"
---
Intro with a [link](https://example.org) and `code`.

# Keys {#keys}

Rotate **yearly**,
at the latest.

## How

1. Make a key.
   - on paper
2. Switch.

```python
# not a heading

rotate()
```

| When | Who |
|------|-----|
| May  | Ada |

<div class="note">Ask <b>first</b>.</div>

# Locks
![a door](door.png)
"""


def test_markdown_keeps_structure_and_drops_markup() -> None:
    title, sections = read(MARKDOWN, "a.md")

    assert title == "The handbook"
    assert [section.heading_path for section in sections] == [(), ("Keys",), ("Keys", "How"), ("Locks",)]
    assert sections[0].text == "Intro with a link and code."
    assert sections[1].text == "Rotate yearly, at the latest."
    assert sections[2].text.split("\n\n") == [
        "1. Make a key.\n  - on paper\n2. Switch.",
        "```\n# not a heading",
        "rotate()\n```",
        "When | Who\nMay | Ada",
        "Ask first.",
    ]
    assert sections[3].text == "a door"


def test_the_first_heading_is_the_title_and_is_not_repeated() -> None:
    title, sections = read("# Guide\n\nHello.\n\n## Keys\n\nRotate.\n", "a.md")

    assert title == "Guide"
    assert [section.heading_path for section in sections] == [(), ("Keys",)]


def test_a_heading_beyond_reason_is_cut() -> None:
    title, sections = read(f"# {'long ' * 1000}\n\nText.\n\n## {'x' * 5000}\n\nMore.", "a.md")

    assert len(title) <= 200
    assert all(len(heading) <= 200 for section in sections for heading in section.heading_path)


HTML = """\
<!doctype html><html><head><title>Keys &#8212; Handbook</title><style>p{color:red}</style></head>
<body><nav>Home | Away</nav><header>Banner</header>
<main><article><header><h1>Keys<a class="headerlink" href="#keys">¶</a></h1></header>
<!-- a comment -->
<p>Rotate <em>yearly</em>,
at the latest.</p><script>alert("x")</script>
<h2>How</h2><ul><li>Make a key.</li><li>Switch.<p>Then wait.</p></li></ul>
<pre>rotate()
  done()</pre>
<table><tr><th>When</th><th>Who</th></tr><tr><td>May</td><td>Ada</td></tr></table>
<aside>Advertisement</aside></article></main><footer>Imprint</footer></body></html>
"""


def test_html_gives_the_main_content_alone() -> None:
    title, sections = read(HTML, "a.html")

    assert title == "Keys"
    assert [section.heading_path for section in sections] == [(), ("How",)]
    assert sections[0].text == "Rotate yearly, at the latest."
    assert sections[1].text.split("\n\n") == [
        "- Make a key.",
        "- Switch.",
        "Then wait.",
        "```\nrotate()\n  done()\n```",
        "When | Who\nMay | Ada",
    ]
    for furniture in ("Home", "Banner", "Imprint", "Advertisement", "alert", "color", "comment", "¶"):
        assert furniture not in str(sections)


def test_a_list_of_other_pages_is_kept_only_where_there_is_nothing_else() -> None:
    contents = '<main><h1>All</h1><div class="toctree-wrapper"><ul><li>Keys</li></ul></div>{}</main>'

    _, alone = read(contents.format(""), "a.html")
    _, beside = read(contents.format("<p>Read these.</p>"), "a.html")

    assert [section.text for section in alone] == ["- Keys"]
    assert [section.text for section in beside] == ["Read these."]


def test_html_that_is_nested_beyond_reason_is_unreadable() -> None:
    with pytest.raises(UnreadableDocument, match="nested"):
        read("<div>" * 5000 + "deep" + "</div>" * 5000, "a.html")


RST = """\
=========
Handbook
=========

Intro.

Keys
----

Rotate::

    rotate()

How
~~~
Switch.

Locks
-----
Lock.
"""


def test_restructured_text_is_cut_at_its_underlined_headings() -> None:
    title, sections = read(RST, "a.rst")

    assert title == "Handbook"
    assert [section.heading_path for section in sections] == [(), ("Keys",), ("Keys", "How"), ("Locks",)]
    assert sections[1].text == "Rotate::\n\n    rotate()"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "utf-16"])
def test_text_in_another_encoding_is_read(encoding: str) -> None:
    text = (
        "Die Schlüssel werden jährlich gewechselt, spätestens im März. Größere Änderungen hängen aus.\n" * 5
    )

    _, sections = read(text.encode(encoding), "a.txt")

    assert sections[0].text.startswith("Die Schlüssel werden jährlich")


def test_characters_that_a_database_refuses_are_dropped() -> None:
    title, sections = read(b"# Ti\x07tle\n\nBo\x00dy\x1b[0m \xef\xbb\xbfend\n".replace(b"\x00", b""), "a.md")

    assert title == "Title"
    assert sections[0].text == "Body[0m end"


def build_pdf(*pages: str, password: str | None = None) -> bytes:
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(width=300, height=300)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def test_a_pdf_gives_a_section_for_each_page() -> None:
    title, sections = read(build_pdf("Rotate yearly.", "Lock the door."), "ops/keys.pdf")

    assert title == "keys"
    assert [(section.heading_path, section.text) for section in sections] == [
        (("Page 1",), "Rotate yearly."),
        (("Page 2",), "Lock the door."),
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"%PDF-1.7 and then nothing", "damaged"),
        (b"", "damaged"),
        (build_pdf("secret", password="x"), "password"),
        (build_pdf(""), "no text"),
        (build_pdf("Rotate yearly.")[:400], "damaged"),
    ],
)
def test_a_pdf_that_cannot_be_read_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        read(content, "a.pdf")
