"""Rules that say what to change first."""
