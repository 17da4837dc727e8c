"""Faults done for real: processes that are killed, disks that are full, files that are damaged.

`jobs` runs the program in processes of its own, `faults` is what happens to them, `runs` prepares small runs and
compares their ends. `python -m tests.torture` is the long version of the tests in tests/integration/test_faults_*.
"""
