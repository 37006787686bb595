"""slime's arguments, as Megatron prints them at the start: `  name ........ value`."""

from __future__ import annotations

import re
from typing import Final

from parsers.build import RunBuilder
from timeledger.run import SettingValue

BEGIN: Final = re.compile(r"-{8,} arguments -{8,}")
END: Final = " end of arguments "
ARGUMENT: Final = re.compile(r"^(?:\([^)]*\)\s*)?\s+(\w+) \.{2,} (.*?)(?:View app at .*)?$")
_SOURCE: Final = "slime: printed arguments"
_SETTINGS: Final = {
    "num_rollout": "total_steps",
    "num_epoch": "epochs",
    "n_samples_per_prompt": "group_size",
    "rollout_batch_size": "prompts_per_step",
    "rollout_max_response_len": "max_tokens",
    "rollout_max_prompt_len": "max_prompt_tokens",
    "rollout_max_context_len": "max_model_len",
    "rollout_temperature": "temperature",
    "rollout_num_gpus_per_engine": "tensor_parallel_size",
    "lr": "learning_rate",
    "hf_checkpoint": "model",
    "advantage_estimator": "algorithm",
    "eval_interval": "eval_steps",
    "save_interval": "save_steps",
    "offload_rollout": "enable_sleep_mode",
}
_KEPT: Final = (
    "global_batch_size", "num_steps_per_rollout", "colocate", "sglang_mem_fraction_static", "max_tokens_per_gpu",
    "use_dynamic_batch_size", "over_sampling_batch_size", "partial_rollout", "balance_data", "use_kl_loss",
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size", "recompute_granularity",
    "rollout_num_gpus", "sglang_server_concurrency", "offload_train", "use_critic", "update_weights_interval",
)  # fmt: skip
_POSITIVE: Final = {"total_steps", "epochs", "eval_steps", "save_steps"}


def settle(build: RunBuilder, found: dict[str, SettingValue]) -> None:
    """Turn arguments into settings."""
    for key, name in _SETTINGS.items():
        value = found.get(key)
        if name not in _POSITIVE or (isinstance(value, int) and value > 0):
            build.setting(name, value, f"{_SOURCE}: {key}", replace=True)
    for key in _KEPT:
        build.setting(key, found.get(key), f"{_SOURCE}: {key}", replace=True)
    if found.get("use_kl_loss") is True:
        build.setting("beta", found.get("kl_loss_coef"), f"{_SOURCE}: kl_loss_coef", replace=True)
    if found.get("recompute_granularity"):
        build.setting("gradient_checkpointing", True, f"{_SOURCE}: recompute_granularity", "inferred", replace=True)
    prompts, group = found.get("rollout_batch_size"), found.get("n_samples_per_prompt")
    if isinstance(prompts, int) and isinstance(group, int):
        told = f"{_SOURCE}: rollout_batch_size x n_samples_per_prompt"
        build.setting("sequences_per_step", prompts * group, told, "inferred", replace=True)
    nodes, each = found.get("actor_num_nodes"), found.get("actor_num_gpus_per_node")
    if isinstance(nodes, int) and isinstance(each, int) and nodes * each > 0:
        own = 0 if found.get("colocate") is True else found.get("rollout_num_gpus")
        if isinstance(own, int):
            told = f"{_SOURCE}: actor_num_nodes x actor_num_gpus_per_node{' + rollout_num_gpus' if own else ''}"
            build.setting("gpus", nodes * each + own, told, "inferred", replace=True)
