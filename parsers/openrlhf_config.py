"""OpenRLHF's arguments: the printed `Namespace(...)`, flat or nested, and the flags of the command line."""

from __future__ import annotations

import re
from typing import Final

from parsers.build import RunBuilder
from parsers.literals import plain
from timeledger.run import SettingValue

#: Flat names (until 0.9) and dotted ones (since 0.10) -> setting. Where two name one setting, the earlier wins.
ARGUMENTS: Final = {
    "rollout_batch_size": "prompts_per_step",
    "rollout.batch_size": "prompts_per_step",
    "n_samples_per_prompt": "group_size",
    "rollout.n_samples_per_prompt": "group_size",
    "generate_max_len": "max_tokens",
    "rollout.generate_max_len": "max_tokens",
    "rollout.max_new_tokens": "max_tokens",
    "prompt_max_len": "max_prompt_tokens",
    "data.prompt_max_len": "max_prompt_tokens",
    "micro_train_batch_size": "per_device_batch",
    "train.micro_batch_size": "per_device_batch",
    "num_episodes": "epochs",
    "train.num_episodes": "epochs",
    "max_epochs": "num_iterations",
    "train.max_epochs": "num_iterations",
    "actor_learning_rate": "learning_rate",
    "actor.learning_rate": "learning_rate",
    "init_kl_coef": "beta",
    "algo.kl.init_coef": "beta",
    "temperature": "temperature",
    "rollout.temperature": "temperature",
    "vllm_tensor_parallel_size": "tensor_parallel_size",
    "vllm.tensor_parallel_size": "tensor_parallel_size",
    "vllm_gpu_memory_utilization": "gpu_memory_utilization",
    "vllm.gpu_memory_utilization": "gpu_memory_utilization",
    "enforce_eager": "enforce_eager",
    "vllm.enforce_eager": "enforce_eager",
    "vllm_enable_sleep": "enable_sleep_mode",
    "vllm.enable_sleep": "enable_sleep_mode",
    "advantage_estimator": "algorithm",
    "algo.advantage.estimator": "algorithm",
    "pretrain": "model",
    "actor.model_name_or_path": "model",
    "gradient_checkpointing": "gradient_checkpointing",
    "async_train": "async_mode",
    "train.async_enable": "async_mode",
    "save_steps": "save_steps",
    "ckpt.save_steps": "save_steps",
    "eval_steps": "eval_steps",
    "eval.steps": "eval_steps",
}
_KEPT: Final = frozenset(
    {
        "train_batch_size", "train.batch_size", "micro_rollout_batch_size", "rollout.micro_batch_size", "zero_stage",
        "ds.zero_stage", "packing_samples", "ds.packing_samples", "colocate_all_models", "train.colocate_all",
        "vllm_num_engines", "vllm.num_engines", "ref_num_nodes", "actor_num_nodes", "actor_num_gpus_per_node",
        "deepspeed_enable_sleep", "ds.enable_sleep", "adam_offload", "flash_attn", "attn_implementation",
        "dynamic_filtering", "use_kl_loss", "max_samples", "vllm_sync_backend",
        "algo.dynamic_filtering_enable", "vllm.sync_backend", "enable_prefix_caching", "vllm.enable_prefix_caching",
        "train.dynamic_batch_enable", "use_dynamic_batch", "use_liger_kernel", "ds.use_liger_kernel", "deepcompile",
        "ds.deepcompile", "ds.attn_implementation", "ds.adam_offload",
    }
)  # fmt: skip
_NEVER: Final = {"save_steps", "eval_steps"}
_LONGEST: Final = 200_000
#: A name with its value: a nested Namespace, a quoted text, a list, or a plain word. A lone bracket closes a Namespace.
_PART: Final = re.compile(
    r"(?P<close>\))|(?P<key>\w+)=(?:(?P<nested>(?:\w*Namespace|\w+Config|\w+Args)\()|"
    r"(?P<value>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\[[^\]]*\]|\{[^}]*\}|[^,()]*))"
)
_FLAG: Final = re.compile(r"--([\w.\-]+)(?:[ =]+([^\s\\-][^\s\\]*|-\d[^\s\\]*))?")


def namespace(text: str) -> dict[str, SettingValue]:
    """The arguments of a printed Namespace by dotted name; lists and nulls are left out."""
    found: dict[str, SettingValue] = {}
    path: list[str] = []
    for part in _PART.finditer(text[:_LONGEST], text.find("Namespace(") + len("Namespace(")):
        if part["close"]:
            if not path:
                break
            path.pop()
        elif part["nested"]:
            path.append(part["key"])
        elif part["key"] and (value := plain(part["value"] or "")) is not None:
            found[".".join([*path, part["key"]])] = value
    return found


def flags(text: str) -> dict[str, SettingValue]:
    """The `--name value` arguments of a command line; a flag without a value is true."""
    found: dict[str, SettingValue] = {}
    for name, raw in _FLAG.findall(text[:_LONGEST]):
        value = plain(raw) if raw else True
        if value is not None:
            found[name] = value
    return found


def settle(build: RunBuilder, found: dict[str, SettingValue], source: str) -> None:
    """Turn arguments into settings."""
    for path, name in ARGUMENTS.items():
        value = found.get(path)
        if name in _NEVER and (not isinstance(value, int) or value <= 0):
            continue
        build.setting(name, value, f"{source}: {path}")
    for path in sorted(_KEPT & found.keys()):
        build.setting(path, found[path], f"{source}: {path}")
    engines = found.get("vllm_num_engines", found.get("vllm.num_engines"))
    if isinstance(engines, int) and not isinstance(engines, bool):
        build.setting("use_vllm", engines > 0, f"{source}: vllm.num_engines", "inferred")
    prompts, group = build.settings.get("prompts_per_step"), build.settings.get("group_size")
    if prompts and group and isinstance(prompts.value, int) and isinstance(group.value, int):
        build.setting(
            "sequences_per_step", prompts.value * group.value, f"{source}: batch x samples a prompt", "inferred"
        )
    nodes, per_node = found.get("actor_num_nodes"), found.get("actor_num_gpus_per_node")
    together = found.get("colocate_all_models", found.get("train.colocate_all"))
    if isinstance(nodes, int) and isinstance(per_node, int) and together is True:
        build.setting("gpus", nodes * per_node, f"{source}: all models on the actor's GPUs", "inferred")
