"""What `scripts/bench` measures. Every figure is a ratio of two things measured by turns in the same run.

settings -> corpus -> worker processes (ours, peers) -> contest -> table and JSON
"""

import os

ENVIRONMENT = dict(os.environ)
"""As the user has it, before `__main__` sets what `translator` sets: each worker begins with it."""
