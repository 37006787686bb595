"""Text that is no metric line: prose, another program's words, saved and printed answers."""

from __future__ import annotations

import re
from typing import Final

_NOISE: Final = re.compile(
    r"Dropping entry|Loading (?:checkpoint|safetensors|pt)|Capturing|Processed prompts|Generating rollouts"
    r"|Cumul\.|Summary|\w=\S+ [<>]=? |time \(ms\) \||RunningAvgSamplesPerSec=|\bskipped=\d+, lr=\[|Traceback"
    r"|\blast checkpoint\b| --[a-z][\w-]+[ =].* --[a-z]"
)
#: What `_NOISE` needs, found much faster.
_NOISE_HINTS: Final = (
    "Dropping entry", "Loading ", "Capturing", "Processed prompts", "Generating rollouts", "Cumul.", "Summary", " <", " >",
    "time (ms)", "RunningAvg", "skipped=", "Traceback", "last checkpoint", " --",
)  # fmt: skip
_NOISE_START: Final = re.compile(
    r"\s*(?:\[DEBUG\]|>>>|\$|#!|//|/\*|(?:import|from|def|class|return|for|if|print|assert|raise|self\.)\b[^|]*[:(=])"
)
_SAMPLE_WORDS: Final = (
    "sample", "completion", "prompt", "question", "answer", "response", "gen", "rollout", "trajectory", "candidate", "example",
    "group",
)  # fmt: skip
_SAMPLE: Final = re.compile(
    rf"\b(?:{'|'.join(_SAMPLE_WORDS)})\s*(?:[\[#]\s*\d+|\s\d+\s*[:/\]]|\s*[:=]\s*['\"a-zA-Z一-鿿<])", re.IGNORECASE
)
_ANSWER: Final = re.compile(r"\b[KkiG]=\d+,|\bq='|问题\s*[:：]|答案\s*[:：]|模型输出", re.IGNORECASE)
#: One saved answer of a rollout, as JSON.
_SAVED: Final = re.compile(
    r"\s*\{.*[\"'](?:prompts?|completions?|responses?|output|input|question|answer|messages|conversation|generated_text|trajectory)[\"']\s*:\s*[\"'\[{]"
)
_NUMBERS: Final = re.compile(r"\d+")


def is_prose(text: str) -> bool:
    """Many words and hardly a separator: told at the cost of counting characters."""
    if text.count(" ") <= 16 or text.count("=") + text.count(":") + text.count("|") >= 2:
        return False
    return len(_NUMBERS.findall(text)) < 4 and len(text.split()) > 12  # blanks also line columns up


def is_noise(text: str) -> bool:
    """A line of another program, of a source text, of a command, or an answer saved as JSON."""
    if _NOISE_START.match(text) or (text[:2] in {"{'", '{"'} and _SAVED.match(text)):
        return True
    return any(hint in text for hint in _NOISE_HINTS) and _NOISE.search(text) is not None


def is_sample(text: str) -> bool:
    """A line that prints an answer, or its number in a group of answers."""
    low = text.lower()
    if any(word in low for word in _SAMPLE_WORDS) and _SAMPLE.search(text):
        return True
    return ("=" in text or not text.isascii()) and _ANSWER.search(text) is not None
