"""What is read, how to log more, and what the words mean."""

from __future__ import annotations

import streamlit as st

from dashboard import glossary, parts
from dashboard.language import t
from parsers import FORMATS

parts.page_title(t("What the numbers mean"))
glossary.kinds()
parts.head(t("Every word on these pages"))
glossary.table()
parts.head(t("What is read, and how to log more"))
glossary.formats(FORMATS)
parts.head(t("A loop of your own"))
st.markdown(t("Print one line a step; names and units are understood, and what is missing is simply not shown:"))
st.code(
    "step 3 | len 152 | len_max 311 | reward 0.53 | acc 0.61 | adv_std 0.98 | ratio 1.00 | time 33.1s", language=None
)
