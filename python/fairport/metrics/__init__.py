"""What is computed from a run's tables, or from the summaries of several runs.

There is one implementation of each number, for every backend and for captures. Nothing here knows
how a run goes.
"""
