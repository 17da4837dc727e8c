"""Settings for all tests: no network, one thread, caches in a folder that goes away."""

import atexit
import os
import shutil
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")  # test processes run side by side
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"

# Set before `datasets` is imported, which reads it once. Worker processes inherit the folder of the first.
if "TRANSLATOR_TEST_CACHE" not in os.environ:
    os.environ["TRANSLATOR_TEST_CACHE"] = tempfile.mkdtemp(prefix="translator-tests-")
    atexit.register(shutil.rmtree, os.environ["TRANSLATOR_TEST_CACHE"], ignore_errors=True)
os.environ["HF_HOME"] = os.path.join(os.environ["TRANSLATOR_TEST_CACHE"], "hf")  # noqa: PTH118
os.environ["TRANSLATOR_CACHE"] = os.path.join(os.environ["TRANSLATOR_TEST_CACHE"], "translator")  # noqa: PTH118
os.environ.pop("TRANSLATOR_HOME", None)
