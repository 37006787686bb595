"""A framework's configuration, as its tracker or its files hold it, turned into the settings of `timeledger.schema`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from parsers.build import RunBuilder
from timeledger.run import SettingValue

#: Arguments of the Hugging Face trainers (transformers and TRL) -> settings.
_TRAINER: Final = {
    "max_steps": "total_steps",
    "num_train_epochs": "epochs",
    "num_generations": "group_size",
    "max_completion_length": "max_tokens",
    "response_length": "max_tokens",
    "max_prompt_length": "max_prompt_tokens",
    "logging_steps": "logging_steps",
    "per_device_train_batch_size": "per_device_batch",
    "gradient_accumulation_steps": "grad_accumulation",
    "num_iterations": "num_iterations",
    "steps_per_generation": "steps_per_generation",
    "learning_rate": "learning_rate",
    "beta": "beta",
    "temperature": "temperature",
    "use_vllm": "use_vllm",
    "gradient_checkpointing": "gradient_checkpointing",
    "eval_on_start": "eval_at_start",
    "_name_or_path": "model",
}
#: Arguments of the engine inside TRL, told only when it is used.
_ENGINE: Final = {
    "vllm_mode": "vllm_mode",
    "vllm_gpu_memory_utilization": "gpu_memory_utilization",
    "vllm_tensor_parallel_size": "tensor_parallel_size",
    "vllm_enable_sleep_mode": "enable_sleep_mode",
    "vllm_max_model_length": "max_model_len",
    "vllm_max_model_len": "max_model_len",
}


def scalar(value: Any) -> SettingValue | None:
    """A value that a setting can hold: MLflow and CSV keep everything as text, so numbers and booleans are read back."""
    if isinstance(value, bool | int | float):
        return value
    if not isinstance(value, str) or len(value) > 300:
        return None
    if value in {"True", "true", "False", "false"}:
        return value in {"True", "true"}
    if value in {"None", "null", ""}:
        return None
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def from_config(build: RunBuilder, config: Any, source: str) -> None:
    """Take the settings that a configuration reveals; `source` names where it stands. Unknown ones are left alone."""
    if not isinstance(config, Mapping):
        return
    if "per_device_train_batch_size" in config or "_name_or_path" in config or "logging_steps" in config:
        _trainer(build, config, source)


def _trainer(build: RunBuilder, config: Mapping[str, Any], source: str) -> None:
    found = {key: scalar(config[key]) for key in [*_TRAINER, *_ENGINE] if key in config}
    if not _positive(found.get("max_steps")):
        found.pop("max_steps", None)
    for key, name in _TRAINER.items():
        build.setting(name, found.get(key), f"{source}: {key}")
    if found.get("use_vllm") is True:
        for key, name in _ENGINE.items():
            build.setting(name, found.get(key), f"{source}: {key}")
    for what in ("eval", "save"):
        if config.get(f"{what}_strategy", config.get("evaluation_strategy")) == "steps":
            every = scalar(config.get(f"{what}_steps"))
            build.setting(f"{what}_steps", every if _positive(every) else None, f"{source}: {what}_steps")
    _batch(build, config, source)


def _batch(build: RunBuilder, config: Mapping[str, Any], source: str) -> None:
    """Sequences and prompts of a step: the generation batch tells how many processes share the work."""
    names = ("per_device_train_batch_size", "gradient_accumulation_steps", "steps_per_generation",
             "generation_batch_size", "num_generations")  # fmt: skip
    numbers = [scalar(config.get(name)) for name in names]
    device, micro, per_generation, whole, group = (
        value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0 for value in numbers
    )
    if not (device and micro and per_generation and whole) or whole % (device * per_generation):
        return
    processes = whole // (device * per_generation)
    told = f"{source}: generation_batch_size {whole} x gradient_accumulation_steps {micro} / steps_per_generation"
    build.setting("sequences_per_step", device * micro * processes, told, "inferred")
    if group and not device * micro * processes % group:
        build.setting("prompts_per_step", device * micro * processes // group, f"{told} / num_generations", "inferred")


def _positive(value: SettingValue | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
