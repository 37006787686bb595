"""training_args.bin is read without running anything of it."""

from __future__ import annotations

import enum
import io
import pickle
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parsers
from parsers import training_args

RAN: list[str] = []


class Strategy(enum.Enum):
    STEPS = "steps"


@dataclass
class GRPOConfig:
    max_steps: int = 100
    logging_steps: float = 1
    num_generations: int = 8
    max_completion_length: int = 256
    per_device_train_batch_size: int = 16
    gradient_accumulation_steps: int = 2
    learning_rate: float = 1e-5
    save_strategy: Strategy = Strategy.STEPS
    save_steps: int = 20
    use_vllm: bool = False
    report_to: tuple[str, ...] = ("tensorboard",)
    output_dir: str | None = None


def run() -> None:
    RAN.append("ran")


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return run, ()


class EvilState:
    def __setstate__(self, state: object) -> None:
        RAN.append("ran")

    def __getstate__(self) -> dict[str, object]:
        return {"max_steps": 5, "evil": Evil()}


def packed(value: object, protocol: int = 2) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("training_args/data.pkl", pickle.dumps(value, protocol))
        archive.writestr("training_args/version", "3")
    return file.getvalue()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_attributes_are_read(protocol: int) -> None:
    found = training_args.arguments(packed(GRPOConfig(), protocol))
    assert found["class"] == "GRPOConfig"
    assert found["max_completion_length"] == 256
    assert found["learning_rate"] == 1e-5
    assert found["save_strategy"] == "steps"
    assert found["use_vllm"] is False
    assert "output_dir" not in found


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_malicious_pickle_does_nothing(protocol: int) -> None:
    RAN.clear()
    pickle.loads(pickle.dumps(Evil()))  # the attack works on who unpickles
    assert RAN == ["ran"]
    RAN.clear()
    for value in (Evil(), EvilState(), [Evil()], {"max_steps": Evil()}):
        training_args.arguments(packed(value, protocol))
    shell = b"cos\nsystem\n(S'echo hacked > /tmp/hacked'\ntR."
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x/data.pkl", shell)
    assert training_args.arguments(file.getvalue()) == {}
    assert RAN == []


@given(st.binary(max_size=300))
def test_any_bytes_give_nothing_or_plain_values(data: bytes) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("training_args/data.pkl", data)
    for each in (data, file.getvalue()):
        found = training_args.arguments(each)
        assert all(isinstance(value, bool | int | float | str) for value in found.values())


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_pickle_gives_nothing_or_plain_values(place: int, byte: int) -> None:
    whole = pickle.dumps(GRPOConfig(), 2)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("training_args/data.pkl", whole[:place] + bytes([byte]) + whole[place + 1 :])
    found = training_args.arguments(file.getvalue())
    assert all(isinstance(value, bool | int | float | str) for value in found.values())


def test_settings_reach_the_run_of_the_state_beside_it(tmp_path: Path) -> None:
    (tmp_path / "training_args.bin").write_bytes(packed(GRPOConfig()))
    state = '{"global_step": 2, "max_steps": 100, "log_history": [{"loss": 0.1, "epoch": 0.1, "step": 1}]}'
    (tmp_path / "trainer_state.json").write_text(state)
    info = parsers.read(tmp_path / "trainer_state.json").info
    assert info.setting("max_tokens") == 256
    assert info.setting("group_size") == 8
    assert info.setting("grad_accumulation") == 2
    assert info.setting("save_steps") == 20
    assert info.setting("algorithm") == "GRPO"
    assert info.settings["max_tokens"].source == "training_args.bin: max_completion_length"
