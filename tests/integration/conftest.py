"""Fixtures that several of these files use."""

from collections.abc import Iterator

import pytest

from translator import validation


@pytest.fixture(scope="module")
def no_pictures() -> Iterator[None]:
    """Attention is not drawn, which takes longer than training here; test_run_results looks at the pictures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "MAX_PICTURE_TOKENS", 0)
        yield
