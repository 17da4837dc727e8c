"""What several unit tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest

SMALL_CONFIG = """\
corpus:
  source_language: en
  target_language: no
  train: {source: a.en, target: a.no}
"""


@pytest.fixture
def write_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes my.yaml (by default a small one) into the current folder, which is a temporary one."""
    monkeypatch.chdir(tmp_path)

    def write(text: str | bytes = SMALL_CONFIG) -> Path:
        path = Path("my.yaml")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
