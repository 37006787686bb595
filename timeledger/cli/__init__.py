"""The command line: one file a command."""


def main() -> int:
    """Run the command line."""
    return 0
