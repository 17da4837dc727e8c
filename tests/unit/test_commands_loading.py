"""The garbage collector while libraries are loaded."""

import gc

import pytest

from translator.commands import loading


def test_nothing_is_collected_while_libraries_are_loaded() -> None:
    try:
        with loading():
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0  # what was loaded is not looked through later either
        gc.unfreeze()
        with pytest.raises(ImportError), loading():
            raise ImportError
        assert gc.isenabled()
    finally:
        gc.unfreeze()
        gc.enable()
