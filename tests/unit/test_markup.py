"""Inline codes: which there are, that numbers are restored exactly, and that both sides get the same ones."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.markup import FIRST, NUM_PLACEHOLDERS, Code, apply, mask, mask_pair, remove, unmask
from translator.tokenizer import KINDS, Tokenizer

CODES = ["%s", "%1$d", "%(name)s", "%-5.2lf", "%1", "{0}", "{name}", "{x!r:>10}", "${user}", "{{item}}", "<b>", "</b>",
         '<a href="x y">', "<br/>", "&amp;", "&#233;", "&#xE9;", "<!-- note -->"]  # fmt: skip
NO_CODES = ["100% de", "50%discount", "100%%", "%%s", "{a b}", "<http://fsf.org/>", "a < b > c", "AT&T", "MAX_VALUE",
            "my_long_name", "a & b", "~5", "R&D;"]  # fmt: skip


def placeholder(number: int) -> str:
    return chr(FIRST + number - 1)


@pytest.mark.parametrize("code", CODES)
def test_codes_become_one_placeholder(code: str) -> None:
    assert mask(f"Open {code}, please") == (f"Open {placeholder(1)}, please", (code,))


@pytest.mark.parametrize("text", NO_CODES)
def test_what_is_no_code_stays(text: str) -> None:
    assert mask(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "mark", "bare"),
    [
        ("_File", "_", "File"),
        ("E&xit", "&", "Exit"),
        ("~Datei", "~", "Datei"),
        ("ファイル(_F)", "_", "ファイル(F)"),
        ("Ö_ffnen", "_", "Öffnen"),
    ],
)
def test_accelerators(text: str, mark: str, bare: str) -> None:
    assert mask(text)[1] == (mark,)
    assert remove(text, f"{mark}Y") == (bare, "Y")
    assert remove(text, "no key") == (text, "no key")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Open my_page.", "Apri “my_page”"),
        ("打开my_page。", "(my_page)"),
        ("See http://x.org/?a=b&c=d now", "Vedi http://x.org/?a=b&c=d"),
        ("<b>my_page</b>", "<i>my_page</i>"),
        ("http://x.org/~user", "(http://x.org/~user)"),
    ],
)
def test_a_mark_inside_a_name_of_both_sides_is_no_accelerator(source: str, target: str) -> None:
    def without_tags(text: str) -> str:
        return re.sub("<.*?>", "", text)

    assert remove(source, target) == (without_tags(source), without_tags(target))
    assert remove(target, source) == (without_tags(target), without_tags(source))
    assert unmask(*mask(source)) == source


def test_a_mark_before_a_word_of_both_sides_is_an_accelerator() -> None:
    assert remove("(_OK)", "_OK") == ("(OK)", "OK")


texts = st.lists(
    st.one_of(st.sampled_from([*CODES, *NO_CODES, "_F", *map(placeholder, (1, 2, 9))]), st.text(max_size=5))
)


@given(texts.map("".join))
def test_unmask_undoes_mask(text: str) -> None:
    masked, table = mask(text)
    assert unmask(masked, table) == text
    assert len(set(table)) == len(table) <= NUM_PLACEHOLDERS


@given(texts.map("".join), texts.map("".join))
def test_the_source_of_a_pair_is_masked_as_it_is_alone(source: str, target: str) -> None:
    assert mask_pair(source, target)[0] == mask(source)[0]


def test_equal_codes_have_equal_numbers_on_both_sides() -> None:
    one, two, three = map(placeholder, (1, 2, 3))
    assert mask_pair("<b>%s</b> %s", "%s: <b>%d") == (f"{one}{two}{three} {two}", f"{two}: {one}{placeholder(4)}")


def test_too_many_codes_leave_the_last_and_placeholders_of_the_text_their_place() -> None:
    text = "".join(f"{{{i}}}" for i in range(NUM_PLACEHOLDERS + 2)) + placeholder(7)
    masked, table = mask(text)
    assert masked.startswith("".join(map(placeholder, range(1, 20))))
    assert len(table) == NUM_PLACEHOLDERS
    assert unmask(masked, table) == text


def test_a_number_without_a_code_stands_for_nothing() -> None:
    assert unmask(f"a{placeholder(2)}b{placeholder(1)}", ["%s"]) == "ab%s"


def test_removed_codes_leave_no_gap_and_entities_become_characters_once() -> None:
    assert remove("Click <b> here</b> &amp;lt; now", "x  y") == ("Click here &lt; now", "x  y")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("keep", ("[a](u) %s", "%s a")), ("number", ("⸀a⸁ ⸂", "⸂ a")), ("remove", ("a", "a"))],
)
def test_codes_that_a_format_marks(mode: str, expected: tuple[str, str]) -> None:
    assert apply(mode, (Code("["), "a", Code("](u)"), " %s"), "%s a") == expected


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_tokenizer_keeps_a_placeholder_in_one_piece(kind: str) -> None:
    masked = [mask(f"{{a}}files {{b}} and _{word}")[0] for word in ("one", "two", "three") for _ in range(20)]
    tokenizer = Tokenizer.train(masked, kind=kind, vocab_size=300)
    tokens = tokenizer.tokens(tokenizer.encode(masked[0]))
    assert [token for token in tokens if set(token) & {*map(placeholder, (1, 2, 3))}] == [*map(placeholder, (1, 2, 3))]
    assert tokenizer.decode(tokenizer.encode(masked[0])) == masked[0]
