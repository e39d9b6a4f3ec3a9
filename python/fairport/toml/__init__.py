"""Reads TOML: the parser, files, and the lines of fields for messages."""
