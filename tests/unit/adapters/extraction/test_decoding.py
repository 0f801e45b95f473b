"""Bytes of text files, as editors of this and the last century wrote them."""

import codecs

import pytest
from equerry.adapters.extraction.decoding import decode
from equerry.ports.extraction import UnreadableDocument

FRENCH = (
    "Règlement intérieur : l’accès à l’hôtel est réservé. Les clés sont changées chaque été, où qu’on soit."
)
GERMAN = "Die Schlüssel werden jährlich gewechselt; größere Änderungen hängen aus. „Übung“ – Straße, 20 m³."
SPANISH = "El año pasado la contraseña cambió: ¿cuándo expira? ¡Atención! El niño pagó 5 €, y la 3ª vez más."
PORTUGUESE = "As senhas são trocadas após três meses; exceções não há. As decisões põem fim às dúvidas."
SWEDISH = "Nycklarna byts varje år, även på öarna. Älven är långt härifrån."
POLISH = "Hasła należy zmieniać co trzy miesiące; późniejsze żądania są odrzucane. Święta, źródło, łódź."
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy. Klíče se mění každý rok, nejpozději v březnu."
RUSSIAN = "Ключи меняются каждый год, не позднее марта. Большие изменения объявляются отдельно."
JAPANESE = "鍵は毎年三月までに交換されます。大きな変更は掲示板でお知らせします。カタカナも使います。"


@pytest.mark.parametrize("repeats", [1, 40])
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FRENCH, "cp1252"),
        (GERMAN, "cp1252"),
        (SPANISH, "cp1252"),
        (PORTUGUESE, "cp1252"),
        (SWEDISH, "latin-1"),
        (POLISH, "cp1250"),
        (CZECH, "cp1250"),
        (RUSSIAN, "cp1251"),
        (JAPANESE, "shift_jis"),
    ],
)
def test_a_text_of_a_code_page_is_read(text: str, encoding: str, repeats: int) -> None:
    whole = "\n".join([text] * repeats)

    assert decode(whole.encode(encoding)) == whole


@pytest.mark.parametrize("text", ["Règlement", "Straße", "contraseña", "l’école", "Übung", "100 €"])
def test_a_few_western_letters_are_enough(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


def test_an_english_text_with_one_accent_keeps_it() -> None:
    text = "The keys are kept in the safe of the café, and nowhere else. " + "They are rotated yearly. " * 50

    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize("text", [FRENCH, GERMAN, POLISH, RUSSIAN, JAPANESE])
def test_a_few_bad_bytes_cost_themselves_and_not_the_file(text: str) -> None:
    whole = "\n".join([text] * 10)

    decoded = decode(b"\xff" + whole.encode() + b"\xe9\n" + whole.encode() + b"\xc3")

    assert (
        decoded
        == f"\N{REPLACEMENT CHARACTER}{whole}\N{REPLACEMENT CHARACTER}\n{whole}\N{REPLACEMENT CHARACTER}"
    )


def test_surrogates_written_one_by_one_are_joined() -> None:
    assert decode(b"Keys " + "\ud83d\udd11".encode("utf-8", "surrogatepass")) == "Keys \N{KEY}"
    assert decode(b"Half \xed\xa0\xbd only") == "Half \N{REPLACEMENT CHARACTER} only"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides(mark: bytes, encoding: str) -> None:
    assert decode(mark + FRENCH.encode(encoding)) == FRENCH


@pytest.mark.parametrize(
    "content", [b"\x00\x01\x02", b"text\x00text", bytes(range(256)) * 20, b"\xff\xfea\x00\x00\x00"]
)
def test_bytes_that_are_no_text_are_refused(content: bytes) -> None:
    with pytest.raises(UnreadableDocument):
        decode(content)
