"""The section corpus.filters: which training pairs are left out, and presets of several filters at once."""

from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Le
from pydantic import BeforeValidator, ModelWrapValidatorHandler, Strict, model_validator

from translator.config.base import Bool, Count, Number, Problem, Section, setting

_SAFE = {
    "drop_duplicates": True,
    "drop_overlap": "source",
    "drop_mojibake": True,
    "drop_invisible": True,
    "max_character_ratio": 9.0,
}
FILTER_PRESETS: dict[str, dict[str, Any]] = {
    "none": {},
    "basic": _SAFE,
    "web": {
        **_SAFE,
        "max_character_ratio": 6.0,
        "drop_identical": True,
        "min_script": 0.5,
        "max_digits": 0.5,
        "max_punctuation": 0.5,
        "max_urls": 0.5,
        "max_repeated_characters": 10,
        "max_repeated_words": 4,
        "min_shared_numbers": 0.5,
        "match_placeholders": True,
    },
}
"""What `corpus.filters.preset` sets; a key that is written beside it wins."""

PRESET_KEYS = {key for preset in FILTER_PRESETS.values() for key in preset}

Share = Annotated[float, Strict(), Ge(0), Le(1)]
Script = Literal[
    "Latin", "Greek", "Cyrillic", "Armenian", "Hebrew", "Arabic", "Syriac", "Thaana", "Nko", "Devanagari", "Bengali",
    "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Thai", "Lao", "Tibetan",
    "Myanmar", "Georgian", "Hangul", "Ethiopic", "Cherokee", "Canadian", "Khmer", "Mongolian", "Ol_Chiki", "Tifinagh",
    "Hiragana", "Katakana", "Bopomofo", "Han", "Yi", "Vai", "Meetei", "Adlam",
]  # fmt: skip


def _as_tuple(names: Any) -> Any:
    return [names] if isinstance(names, str) else names


Scripts = Annotated[tuple[Script, ...], BeforeValidator(_as_tuple, json_schema_input_type=Script | list[Script])]


class Filters(Section):
    """Which training pairs are left out. Each dropped pair is counted and reported with its reason."""

    preset: Literal["none", "basic", "web"] = setting(
        "none",
        "Several filters at once: basic for pairs that people made, web for pairs that were found by crawling."
        " Filters that are written beside it win.",
        "refused",
    )
    max_tokens: Count = setting(200, "Most tokens of either side; longer pairs are left out.", "refused")
    max_ratio: Number | None = setting(
        None, "Most tokens of one side for each token of the other; null: no limit.", "refused", ge=1
    )
    min_characters: Count = setting(1, "Fewest characters of either side.", "refused")
    max_characters: Count = setting(
        5000, "Most characters of either side; longer pairs are left out before tokenisation.", "refused"
    )
    max_character_ratio: Number | None = setting(
        None, "Most characters of one side for each of the other; null: no limit.", "refused", ge=1
    )
    drop_identical: Bool = setting(False, "Leave out pairs of which both sides are the same text.", "refused")
    drop_mojibake: Bool = setting(
        False, "Leave out pairs with text that was read in a wrong encoding, such as cafÃ©.", "refused"
    )
    drop_invisible: Bool = setting(
        False, "Leave out pairs with control or invisible characters; joiners inside words stay.", "refused"
    )
    min_script: Share | None = setting(
        None, "Least share of the letters of a side that are of the script of its language; null: any.", "refused"
    )
    source_scripts: Scripts | None = setting(
        None, "Scripts of the source, such as Latin or [Cyrillic, Latin]; null: those of the language.", "refused"
    )
    target_scripts: Scripts | None = setting(None, "Scripts of the target; null: those of the language.", "refused")
    min_language: Share | None = setting(
        None,
        "Least probability that a side of 20 letters or more is in its language; needs the extra langid; null: any.",
        "refused",
    )
    max_digits: Share | None = setting(None, "Most digits, as a share of a side's characters; null: any.", "refused")
    max_punctuation: Share | None = setting(
        None, "Most punctuation and symbols, as a share of a side's characters; null: any.", "refused"
    )
    max_urls: Share | None = setting(
        None, "Most characters in web and mail addresses, as a share of a side; null: any.", "refused"
    )
    max_repeated_characters: Count | None = setting(
        None, "Most times that a character may stand in a row; null: any.", "refused"
    )
    max_repeated_words: Count | None = setting(None, "Most times that a word may stand in a row; null: any.", "refused")
    min_shared_numbers: Share | None = setting(
        None, "Least share of the numbers that both sides have, in digits of any script; null: any.", "refused"
    )
    match_placeholders: Bool = setting(
        False, "Leave out pairs of which the sides differ in placeholders (%s, {name}), tags or entities.", "refused"
    )
    targets_per_source: Literal["all", "first"] = setting(
        "all", "Keep all targets of a source, or the first pair alone.", "refused"
    )
    drop_duplicates: Bool = setting(
        False, "Leave out repeated pairs. They are counted and reported in any case.", "refused"
    )
    drop_overlap: Literal["none", "pair", "source"] = setting(
        "none",
        "Leave out training pairs that validation or test also has: the same pair, or the same source."
        " They are counted and reported in any case.",
        "refused",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _fill_from_preset(cls, value: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(value, dict):
            return build(value)
        preset = value.get("preset", "none")
        filters = build({**FILTER_PRESETS.get(preset if isinstance(preset, str) else "none", {}), **value})
        filters.model_fields_set.intersection_update(value)  # the preset's keys are not what the user wrote
        return filters

    @property
    def own(self) -> dict[str, Any]:
        """What these filters say when they stand over others: what was written; with a preset, all that presets set."""
        keys = self.model_fields_set | (PRESET_KEYS if "preset" in self.model_fields_set else set())
        return {key: value for key, value in self if key in keys}

    def problems(self) -> list[Problem]:
        found: list[Problem] = []
        if self.min_characters > self.max_characters:
            found.append((("min_characters", "max_characters"), "is more than max_characters; no pair would be left"))
        return found
