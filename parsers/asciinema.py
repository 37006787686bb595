"""Terminal recordings (asciinema v2 and v3): one JSON array an event, whose text is split anywhere, even inside a metric line."""

from __future__ import annotations

import json


def is_recording(data: bytes) -> bool:
    """True when the bytes begin like a recording's header line."""
    start = data[:200].lstrip()
    return start.startswith(b'{"version":') and start[11:].lstrip()[:1] in {b"2", b"3"} and b'"' in start


class Unwrapper:
    """Turns a recording, fed in any chunks, into what the terminal showed."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """The output text that the new bytes complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        out: list[str] = []
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, list) and len(event) == 3 and event[1] == "o" and isinstance(event[2], str):
                out.append(event[2])
        return "".join(out).encode()
