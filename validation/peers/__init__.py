"""Other simulators, for which Fairport brings programs of its own: one folder per simulator."""
