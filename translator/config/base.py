"""What all sections of a config have in common."""

import re
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Gt
from pydantic import BaseModel, ConfigDict, Field, Strict, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

Resume = Literal["free", "announced", "refused"]
"""What a changed setting means when a run is resumed: taken silently, taken and said, or not taken."""

Problem = tuple[tuple[str, ...], str]
"""Keys that do not fit together (the first is the one to report; "" is the section), and a sentence."""

NAME_PATTERN = r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$"
WORD_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
DURATION_PATTERN = r"^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$"


# Strict: text is no number, a number no text, and 1 is not true.
Int = Annotated[int, Strict()]
Count = Annotated[int, Strict(), Ge(1)]
Number = Annotated[float, Strict()]

# The largest sizes of a model that are believed: far beyond any that this program could train, and small enough that
# a file which asks for more is refused before anything of such a size is made.
MOST_WIDTH = 2**17
MOST_LAYERS = 256
MOST_POSITIONS = 2**20
MOST_ENTRIES = 2**22  # of a vocabulary
Text = Annotated[str, Strict()]
Bool = Annotated[bool, Strict()]
Duration = (
    Annotated[float, Strict(), Gt(0)]
    | Annotated[str, StringConstraints(strict=True, min_length=2, pattern=DURATION_PATTERN)]
)
"""A number of minutes, or text such as 3h30m."""


def seconds_of(duration: float | str) -> float:
    """A `Duration` in seconds."""
    if not isinstance(duration, str):
        return duration * 60
    parts = re.findall(r"([0-9]+)([dhms])", duration)
    return float(sum(int(number) * {"d": 86400, "h": 3600, "m": 60, "s": 1}[unit] for number, unit in parts))


def setting(default: Any, description: str, on_resume: Resume, **limits: Any) -> Any:
    """A field with a sentence for the docs and its class on resume."""
    return Field(default, description=description, json_schema_extra={"on_resume": on_resume}, **limits)


class Section(BaseModel):
    """Base of all sections: frozen, no unknown keys, settings that contradict each other are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())

    def problems(self) -> list[Problem]:
        """Settings of this section that contradict each other; keys relative to the section."""
        return []

    @model_validator(mode="after")
    def _refuse_problems(self) -> Self:
        if problems := self.problems():
            text = "\n".join(f"{keys[0]}: {sentence}".removeprefix(": ") for keys, sentence in problems)
            raise PydanticCustomError("problems", "{text}", {"text": text, "problems": problems})
        return self
