"""Each rule on pairs made by hand: what it leaves out, and what it must not."""

from typing import Any

import pyarrow as pa
import pytest

from translator.config import Filters
from translator.corpus import rules
from translator.corpus.sides import Sides
from translator.markup import mask_pair


def sides(*pairs: tuple[str, str]) -> Sides:
    return Sides.of(pa.table({"source": [source for source, _ in pairs], "target": [target for _, target in pairs]}))


def dropped(pair: tuple[str, str], languages: tuple[str, str] = ("en", "kn"), **filters: Any) -> str | None:
    """The key of the first rule that leaves a pair out. A pair beside it must not change the answer."""
    batch = sides(("Hello.", "ನಮಸ್ಕಾರ."), pair, ("Good day.", "ಶುಭ ದಿನ."))
    found = [rule.key for rule in rules.text_rules(Filters(**filters), languages) if rule.drops(batch)[1]]
    return found[0] if found else None


def test_nothing_is_left_out_by_default() -> None:
    pair = ("\u00ad1 %s Ã©", "http://x.org " * 300)
    assert dropped(pair) is None


@pytest.mark.parametrize(
    ("pair", "filters"),
    [
        (("abcde", "ಕ"), {"max_characters": 4}),
        (("a", "ಕನ್ನಡ"), {"min_characters": 2}),
        (("one two three four", "ಒಂ"), {"max_character_ratio": 8.5}),
        (("Same Text", "same text"), {"drop_identical": True}),
        (("It’s", "itâ€™s"), {"drop_mojibake": True}),
        (("soft\u00adhyphen", "ಕನ್ನಡ"), {"drop_invisible": True}),
        (("English", "English too"), {"min_script": 0.5}),
        (("1234 5678 ab", "ಕನ್ನಡ"), {"max_digits": 0.5}),
        (("*** --- !!! a", "ಕನ್ನಡ"), {"max_punctuation": 0.5}),
        (("see www.example.org/a/long/page", "ನೋಡಿ"), {"max_urls": 0.5}),
        (("Noooooo", "ಇಲ್ಲ"), {"max_repeated_characters": 4}),
        (("na na NA na na", "ನ"), {"max_repeated_words": 4}),
        (("Room 12", "ಕೊಠಡಿ 13"), {"min_shared_numbers": 0.5}),
        (("%d files", "%s ಕಡತಗಳು"), {"match_placeholders": True}),
        (("%.*f", "ಕ"), {"match_placeholders": True}),
        (("caf&#xE9;", "ಕ"), {"match_placeholders": True}),
        (("&Eacute;tat", "ಕ"), {"match_placeholders": True}),
        (("{x!r:>10}", "ಕ"), {"match_placeholders": True}),
        (mask_pair("Open %s", "ತೆರೆ"), {"match_placeholders": True}),
        (mask_pair("%s of %s", "ಕ %s"), {"match_placeholders": True}),
        (mask_pair("_File", "ಕಡತ"), {"match_placeholders": True}),  # numbered, an accelerator looks like any code
    ],
)
def test_a_rule_leaves_out_what_it_names(pair: tuple[str, str], filters: dict[str, Any]) -> None:
    assert dropped(pair, **filters) == next(iter(filters))
    assert dropped((pair[1], pair[0]), ("kn", "en"), **filters) == next(iter(filters))


@pytest.mark.parametrize(
    ("pair", "filters"),
    [
        (("abcd", "ಕನ್ನ"), {"max_characters": 4}),
        (("ab", "ಕನ್ನ"), {"min_characters": 2}),
        (("OK", "ಸರಿಸರಿಸ"), {"max_character_ratio": 1.5}),  # ten characters say nothing about length
        (("2024", "2024"), {"drop_identical": True}),  # a number is its own translation
        (("naïve", "ಕನ್ನಡ"), {"drop_mojibake": True}),
        (("word", "ಕ್\u200dಷ ಕ್\u200cಷ"), {"drop_invisible": True}),
        (("Linux and Windows are here", "Linux ಮತ್ತು Windows ಇಲ್ಲಿವೆ ನೋಡಿ ಈಗ"), {"min_script": 0.5}),
        (("12.5 %", "೧೨.೫ %"), {"min_script": 0.5}),  # no letters at all
        (("12ab", "೧೨ಕನ"), {"max_digits": 0.5}),
        (("Who? Me!", "ಯಾರು?"), {"max_punctuation": 0.5}),
        (("Write to the office of a@b.org at once", "ಕನ್ನಡ"), {"max_urls": 0.5}),
        (("Soooo 1000000", "ಕನ್ನಡ         ಕ"), {"max_repeated_characters": 4}),
        (("no no no no", "- - - - - - -"), {"max_repeated_words": 4}),
        (("1,234.50 and 7", "೧.೨೩೪,೫೦ ಮತ್ತು ೭"), {"min_shared_numbers": 1.0}),
        (("1,2,3", "1, 2, 3"), {"min_shared_numbers": 1.0}),
        (("12 of 13", "12"), {"min_shared_numbers": 0.5}),
        (("%1$s <b class='x'>of</b> {0} ${name}", "${name} {0} <b>ರ</b> %s"), {"match_placeholders": True}),
        (("50% de los casos", "ಪ್ರಕರಣಗಳಲ್ಲಿ 50%"), {"match_placeholders": True}),
        (("_File, 100%%d", "ಕಡತ"), {"match_placeholders": True}),  # an accelerator need not be in every language
        (mask_pair("<b>%s</b> _of %d", "%d _ರ <b>%s</b>"), {"match_placeholders": True}),
    ],
)
def test_a_rule_keeps_what_only_looks_like_it(pair: tuple[str, str], filters: dict[str, Any]) -> None:
    assert dropped(pair, **filters) is None


def test_scripts_can_be_told() -> None:
    pair = ("Hello", "namaskāra")
    assert dropped(pair, min_script=0.5) == "min_script"
    assert dropped(pair, min_script=0.5, target_scripts="Latin") is None
    assert dropped(("Hello", "ಕನ್ನಡ"), ("en", "qqq"), min_script=0.5) is None


def test_a_slice_of_a_table_is_read_where_it_begins() -> None:
    table = pa.table({"source": ["aaaa", "b", "cccc"], "target": ["x", "yyyy", "z"]}).slice(1)
    assert rules.too_long(Sides.of(table), 3).tolist() == [True, True]
    assert rules.repeated_characters(Sides.of(table), 3).tolist() == [True, True]
    assert rules.repeated_characters(Sides.of(table.slice(0, 0)), 3).tolist() == []


def test_wrong_language() -> None:
    right = ("The book lies on the table in the room.", "Il libro è sul tavolo nella stanza.")
    wrong = ("The book lies on the table in the room.", "Das Buch liegt auf dem Tisch im Zimmer.")
    assert dropped(right, ("en", "it"), min_language=0.05) is None
    assert dropped(wrong, ("en", "it"), min_language=0.05) == "min_language"
    assert dropped(("Good day.", "Guten Tag."), ("en", "it"), min_language=0.05) is None  # too short to tell
