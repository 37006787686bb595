"""A framework's configuration, as its tracker or its files hold it, turned into the settings of `timeledger.schema`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from parsers import openrlhf_config, verl_config
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
#: Kept under `trl.` and their own names: what advice about a run may need.
_KEPT: Final = (
    "use_liger_kernel", "torch_compile", "mask_truncated_completions", "attn_implementation", "generation_batch_size",
)  # fmt: skip
#: Arguments of the engine inside TRL, told only when it is used.
_ENGINE: Final = {
    "vllm_mode": "vllm_mode",
    "vllm_gpu_memory_utilization": "gpu_memory_utilization",
    "vllm_tensor_parallel_size": "tensor_parallel_size",
    "vllm_enable_sleep_mode": "enable_sleep_mode",
    "vllm_max_model_length": "max_model_len",
    "vllm_max_model_len": "max_model_len",
}

#: Paths in the configuration of NeMo-RL and SkyRL -> settings.
PATHS: Final = {
    "grpo.num_prompts_per_step": "prompts_per_step",
    "grpo.num_generations_per_prompt": "group_size",
    "grpo.max_num_steps": "total_steps",
    "grpo.max_num_epochs": "epochs",
    "grpo.val_period": "eval_steps",
    "grpo.val_at_start": "eval_at_start",
    "grpo.val_at_end": "eval_at_end",
    "checkpointing.save_period": "save_steps",
    "policy.model_name": "model",
    "policy.generation.max_new_tokens": "max_tokens",
    "policy.generation.temperature": "temperature",
    "policy.generation.vllm_cfg.gpu_memory_utilization": "gpu_memory_utilization",
    "policy.generation.vllm_cfg.tensor_parallel_size": "tensor_parallel_size",
    "policy.generation.vllm_cfg.enforce_eager": "enforce_eager",
    "policy.generation.vllm_cfg.max_model_len": "max_model_len",
    "policy.optimizer.kwargs.lr": "learning_rate",
    "loss_fn.reference_policy_kl_penalty": "beta",
    "trainer.train_batch_size": "prompts_per_step",
    "trainer.epochs": "epochs",
    "trainer.eval_interval": "eval_steps",
    "trainer.eval_before_train": "eval_at_start",
    "trainer.ckpt_interval": "save_steps",
    "trainer.policy.model.path": "model",
    "trainer.policy.optimizer_config.lr": "learning_rate",
    "trainer.gradient_checkpointing": "gradient_checkpointing",
    "generator.n_samples_per_prompt": "group_size",
    "generator.sampling_params.max_generate_length": "max_tokens",
    "generator.sampling_params.temperature": "temperature",
    "generator.max_input_length": "max_prompt_tokens",
    "generator.gpu_memory_utilization": "gpu_memory_utilization",
    "generator.inference_engine.gpu_memory_utilization": "gpu_memory_utilization",
    "generator.enforce_eager": "enforce_eager",
    "generator.inference_engine.enforce_eager": "enforce_eager",
    "generator.inference_engine_tensor_parallel_size": "tensor_parallel_size",
    "generator.inference_engine.tensor_parallel_size": "tensor_parallel_size",
}
_EVERY: Final = {"eval_steps", "save_steps", "total_steps"}
_DEEPEST: Final = 8


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
    openrlhf = "n_samples_per_prompt" in config  # it has `logging_steps` too
    if (
        "per_device_train_batch_size" in config
        or "_name_or_path" in config
        or ("logging_steps" in config and not openrlhf)
    ):
        _trainer(build, config, source)
        return
    found = flatten(config)
    if any(path.startswith("actor_rollout_ref.") for path in found):
        verl_config.settle(build, found, source)
    elif "n_samples_per_prompt" in found or "rollout.n_samples_per_prompt" in found:
        openrlhf_config.settle(build, found, source)
    else:
        _paths(build, found, source)


def flatten(config: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, SettingValue]:
    """The plain values of a nested configuration by dotted path (MLflow writes the path with slashes)."""
    found: dict[str, SettingValue] = {}
    for key, value in config.items():
        path = prefix + str(key).replace("/", ".")
        if isinstance(value, Mapping):
            if depth < _DEEPEST:
                found.update(flatten(value, f"{path}.", depth + 1))
        elif (plain := scalar(value)) is not None:
            found[path] = plain
    return found


def _paths(build: RunBuilder, found: Mapping[str, SettingValue], source: str) -> None:
    for path, name in PATHS.items():
        value = found.get(path)
        if name not in _EVERY or _positive(value):
            build.setting(name, value, f"{source}: {path}")
    prompts, group = found.get("grpo.num_prompts_per_step"), found.get("grpo.num_generations_per_prompt")
    if prompts is None:
        prompts, group = found.get("trainer.train_batch_size"), found.get("generator.n_samples_per_prompt")
    if isinstance(prompts, int) and isinstance(group, int):
        build.setting("sequences_per_step", prompts * group, f"{source}: prompts x samples a prompt", "inferred")
    nodes, each = found.get("cluster.num_nodes"), found.get("cluster.gpus_per_node")
    if isinstance(nodes, int) and isinstance(each, int) and nodes * each > 0:
        build.setting("gpus", nodes * each, f"{source}: cluster.num_nodes x cluster.gpus_per_node")


def _trainer(build: RunBuilder, config: Mapping[str, Any], source: str) -> None:
    found = {key: scalar(config[key]) for key in [*_TRAINER, *_ENGINE] if key in config}
    if not _positive(found.get("max_steps")):
        found.pop("max_steps", None)
    if "max_steps" in found or _positive(scalar(config.get("total_episodes"))):
        found.pop("num_train_epochs", None)  # overridden: what stands there is the default
    for key, name in _TRAINER.items():
        build.setting(name, found.get(key), f"{source}: {key}")
    for key in _KEPT:
        if key in config:
            build.setting(f"trl.{key}", scalar(config[key]), f"{source}: {key}")
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
