"""What is read, how to log more, and what the words mean."""

from __future__ import annotations

import streamlit as st

from dashboard import parts
from parsers import FORMATS

st.markdown("### What the numbers mean", anchors=False)
st.markdown(
    """
- **measured** stands in the log; **inferred** was computed from it and carries its uncertainty; **assumed** was typed in or is a default.
- **Finishes** is the most likely end. The interval holds the true end in about 8 of 10 runs; the *worst case* is when every answer reaches the limit.
- **Unexplained** is the part of a step that the log does not account for. What is not measured is never shown as zero.
- **Lost time** is pauses and the gaps between a crash and its restart: counted in elapsed time, never projected into the future.
- **Answers** is the mean response length in tokens, late in the run.
- Nothing is sent anywhere: the page is served from this machine to this machine.
"""
)
st.markdown("### What is read, and how to log more", anchors=False)
parts.formats(FORMATS)
st.markdown("### A loop of your own", anchors=False)
st.markdown("Print one line a step; names and units are understood, and what is missing is simply not shown:")
st.code(
    "step 3 | len 152 | len_max 311 | reward 0.53 | acc 0.61 | adv_std 0.98 | ratio 1.00 | time 33.1s", language=None
)
