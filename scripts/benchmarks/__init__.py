"""What `scripts/bench` measures. Every figure is a ratio of two things measured by turns in the same run.

settings -> corpus -> worker processes (ours, peers) -> contest -> table and JSON
"""
