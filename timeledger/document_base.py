"""What the JSON documents are built of."""

from __future__ import annotations

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from timeledger.run import Kind


class Part(BaseModel):
    """Base of every part of the document."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, from_attributes=True)


class Range(Part):
    """A quantity in seconds with its interval."""

    low: float
    mid: float
    high: float


class PhasePart(Part):
    """One phase of the mean step."""

    phase: str
    seconds: float
    share: float
    origin: Kind = Field(validation_alias=AliasChoices("kind", "from"), serialization_alias="from")
