"""Real logs made by running the real tools small; SOURCES.md says how each was made."""
