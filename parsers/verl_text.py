"""verl's console line `step:N - key:value - key:value`, whole or broken by a terminal."""

from __future__ import annotations

import re
from typing import Final

from timeledger import units

#: Anchored: `timing_s/step:12.3` and `time_per_step:12.3` are no step lines.
_STEP: Final = re.compile(r"(?:^|[\s\]:])step:(\d{1,12}) -(?:\s|$)")
_BLOCK: Final = re.compile(
    r"^\s*'?((?:timing_s|timing|perf|actor|critic|response_length|prompt_length)/[\w./@\-]+)'?:\s*(\S+)"
)
#: How verl's own keys begin: what tells its lines from another program's `step:3 - loss:0.5`.
KNOWN_KEY: Final = re.compile(
    r"\b(?:timing_s|timing|critic|actor|response_length|prompt_length|perf|global_seqlen|training|val(?:-core|-aux)?|reward)/"
    r"|\btrain/(?:lr\(1e-3\)|time\(s\)):"
)
_TAIL: Final = re.compile(r"[\d.eE+\-)]+$")
#: The beginning of a `key:value`, cut off.
_STUB: Final = re.compile(r"[A-Za-z][\w.@\-]*/[\w./@\-]*:?$")
_JOINED_LIMIT: Final = 64 * 1024
#: Versions before 0.5 print three decimals: in these small quantities 0.000 says only "below 0.0005".
SMALL: Final = frozenset(
    {"actor/lr", "critic/lr", "actor/kl_loss", "actor/ppo_kl", "actor/kl_coef", "critic/kl", "critic/kl_coeff",
     "actor/reward_kl_penalty", "actor/reward_kl_penalty_coeff"}
)  # fmt: skip
BELOW: Final = frozenset({"0.000", "-0.000"})


def step_line(text: str) -> tuple[int, str] | None:
    """The step and what follows its dash, when the text (without process prefix) holds a step line."""
    if "step:" not in text or (match := _STEP.search(text)) is None:
        return None
    body = text[match.end() :]
    return (int(match.group(1)), body) if ":" in body else None


def value(text: str) -> float | None:
    """A printed value: a plain number, or `np.float64(0.5)` and the like; None for anything else."""
    try:
        return float(text)
    except ValueError:
        return units.number(text)


def pair(part: str) -> tuple[str, float] | None:
    """One `key:value`. Keys may hold colons, blanks, slashes and at-signs: the last colon that leaves a number divides."""
    key, _, text = part.rpartition(":")
    found = value(text) if key else None
    if found is None and "(" in part:  # tensor(0.5, device='cuda:0')
        key, _, text = part.partition(":")
        found = value(text)
    return (key.strip(), found) if found is not None and key.strip() else None


def metrics(body: str) -> tuple[dict[str, float], list[str]]:
    """The numbers of a step line, and the keys whose three decimals hide the value."""
    found: dict[str, float] = {}
    hidden: list[str] = []
    for part in body.split(" - "):
        key, _, text = part.rpartition(":")
        if text in BELOW and key in SMALL:
            hidden.append(key)
            continue
        try:
            found[key] = float(text)
        except ValueError:
            if (both := pair(part)) is not None:
                found[both[0]] = both[1]
    found.pop("", None)
    return found, hidden


def block_line(text: str) -> tuple[str, float] | None:
    """One `timing_s/gen: 424.643` of a list printed one key a line, or None."""
    match = _BLOCK.match(text)
    found = value(match.group(2).rstrip(",")) if match else None
    return (match.group(1), found) if match and found is not None else None


def joined(text: str, follow: str, wrapped: bool) -> str | None:
    """The step line `text` with the line after it, when that is its broken-off rest; else None.

    A terminal breaks at its width: inside a number, a key, or at a dash. `wrapped` says that this step line was
    broken before, which lets a last crumb of digits join too.
    """
    follow = follow.strip()
    if not follow or len(text) > _JOINED_LIMIT or "pid=" in follow[:80] or "%|" in follow or _STEP.search(follow):
        return None
    begun = text.rstrip()
    apart = begun.endswith(" -") or follow.startswith("- ")
    parts = follow.removeprefix("- ").removesuffix(" -").split(" - ")
    if not all(_tidy(part) for part in parts[1:-1]):
        return None
    if apart:
        fits = _tidy(parts[0]) or (wrapped and bool(_STUB.match(parts[0])))
        return f"{begun} {follow}" if fits else None
    last = begun.rsplit(" - ", 1)[-1]
    if _tidy(last):
        fits = bool(_TAIL.match(parts[0])) and _tidy(last + parts[0]) and (len(parts) > 1 or wrapped)
    else:
        fits = _tidy(last + parts[0]) or (wrapped and bool(_STUB.match(last + parts[0])))
    return begun + follow if fits else None


def _tidy(part: str) -> bool:
    """True for a complete `key:value` with a key as verl has them."""
    found = pair(part)
    return found is not None and "/" in found[0] and " " not in found[0]
