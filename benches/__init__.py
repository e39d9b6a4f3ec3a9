"""Speed and memory. A benchmark is never a test: nothing fails for being slow."""
