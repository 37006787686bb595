"""How each framework spells a setting, and what this run has now.

Sources: trl grpo_config.py and vllm_generation.py, verl rollout.yaml and best_practices.rst, OpenRLHF's README (flags were
renamed to dotted names in 0.10), ms-swift's command-line parameters, vLLM's engine arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from timeledger.advice.case import Case
from timeledger.run import SettingValue
from timeledger.said import say

_ROLLOUT: Final = "actor_rollout_ref.rollout."
_ACTOR: Final = "actor_rollout_ref.actor."
_MODEL: Final = "actor_rollout_ref.model."
#: OpenRLHF: the flag until 0.9, the flag since 0.10.
Flags = tuple[str, str]
Names = Mapping[str, str | Flags]

#: Concept (a setting of `timeledger.schema` where there is one) -> framework -> its name there.
KNOBS: Final[Mapping[str, Names]] = {
    "gpu_memory_utilization": {
        "trl": "vllm_gpu_memory_utilization",
        "verl": _ROLLOUT + "gpu_memory_utilization",
        "openrlhf": ("vllm_gpu_memory_utilization", "vllm.gpu_memory_utilization"),
        "swift": "--vllm_gpu_memory_utilization",
        "vllm": "--gpu-memory-utilization",
    },
    "enforce_eager": {
        "trl": "trl vllm-serve --enforce_eager",
        "verl": _ROLLOUT + "enforce_eager",
        "openrlhf": ("enforce_eager", "vllm.enforce_eager"),
        "swift": "--vllm_enforce_eager",
        "vllm": "--enforce-eager",
    },
    "max_num_seqs": {
        "verl": _ROLLOUT + "max_num_seqs",
        "swift": "--vllm_max_num_seqs",
        "vllm": "--max-num-seqs",
    },
    "max_num_batched_tokens": {"verl": _ROLLOUT + "max_num_batched_tokens", "vllm": "--max-num-batched-tokens"},
    "max_model_len": {
        "trl": "vllm_max_model_length",
        "verl": _ROLLOUT + "max_model_len",
        "swift": "--vllm_max_model_len",
        "vllm": "--max-model-len",
    },
    "enable_prefix_caching": {
        "trl": "trl vllm-serve --enable_prefix_caching",
        "verl": _ROLLOUT + "enable_prefix_caching",
        "openrlhf": ("enable_prefix_caching", "vllm.enable_prefix_caching"),
        "swift": "--vllm_enable_prefix_caching",
        "vllm": "--enable-prefix-caching",
    },
    "enable_chunked_prefill": {"verl": _ROLLOUT + "enable_chunked_prefill", "vllm": "--enable-chunked-prefill"},
    "tensor_parallel_size": {
        "trl": "vllm_tensor_parallel_size",
        "verl": _ROLLOUT + "tensor_model_parallel_size",
        "openrlhf": ("vllm_tensor_parallel_size", "vllm.tensor_parallel_size"),
        "swift": "--vllm_tensor_parallel_size",
        "vllm": "--tensor-parallel-size",
    },
    "engine": {
        "trl": "use_vllm",
        "verl": _ROLLOUT + "name",
        "openrlhf": ("vllm_num_engines", "vllm.num_engines"),
        "swift": "--use_vllm",
    },
    "vllm_mode": {
        "trl": "vllm_mode",
        "openrlhf": ("colocate_all_models", "train.colocate_all"),
        "swift": "--vllm_mode",
    },
    "enable_sleep_mode": {
        "trl": "vllm_enable_sleep_mode",
        "verl": _ROLLOUT + "free_cache_engine",
        "openrlhf": ("vllm_enable_sleep", "vllm.enable_sleep"),
        "swift": "--sleep_level",
        "vllm": "--enable-sleep-mode",
    },
    "param_offload": {
        "verl": _ACTOR + "fsdp_config.param_offload",
        "swift": "--offload_model",
    },
    "optimizer_offload": {
        "verl": _ACTOR + "fsdp_config.optimizer_offload",
        "openrlhf": ("adam_offload", "ds.adam_offload"),
        "swift": "--offload_optimizer",
    },
    "generation_batch": {
        "trl": "steps_per_generation",
        "verl": "data.train_batch_size",
        "openrlhf": ("rollout_batch_size", "rollout.batch_size"),
        "swift": "--steps_per_generation",
    },
    "per_device_batch": {
        "trl": "per_device_train_batch_size",
        "verl": _ACTOR + "ppo_micro_batch_size_per_gpu",
        "openrlhf": ("micro_train_batch_size", "train.micro_batch_size"),
        "swift": "--per_device_train_batch_size",
    },
    "logprob_batch": {
        "verl": _ROLLOUT + "log_prob_micro_batch_size_per_gpu",
        "openrlhf": ("micro_rollout_batch_size", "rollout.micro_batch_size"),
    },
    "remove_padding": {
        "verl": _MODEL + "use_remove_padding",
        "openrlhf": ("packing_samples", "ds.packing_samples"),
    },
    "dynamic_batch": {
        "verl": _ACTOR + "use_dynamic_bsz",
        "openrlhf": ("use_dynamic_batch", "train.dynamic_batch_enable"),
    },
    "gradient_checkpointing": {
        "trl": "gradient_checkpointing",
        "verl": _MODEL + "enable_gradient_checkpointing",
        "openrlhf": ("gradient_checkpointing", "actor.gradient_checkpointing_enable"),
        "swift": "--gradient_checkpointing",
    },
    "beta": {
        "trl": "beta",
        "verl": _ACTOR + "use_kl_loss",
        "openrlhf": ("init_kl_coef", "algo.kl.init_coef"),
        "swift": "--beta",
    },
    "bypass": {"verl": "algorithm.rollout_correction.bypass_mode"},
    "reward_workers": {
        "trl": "reward_funcs",
        "verl": "reward.num_workers",
        "openrlhf": ("remote_rm_url", "reward.remote_url"),
    },
    "eval_steps": {
        "trl": "eval_steps",
        "verl": "trainer.test_freq",
        "openrlhf": ("eval_steps", "eval.steps"),
        "swift": "--eval_steps",
    },
    "eval_at_start": {"trl": "eval_on_start", "verl": "trainer.val_before_train", "swift": "--eval_on_start"},
    "save_steps": {
        "trl": "save_steps",
        "verl": "trainer.save_freq",
        "openrlhf": ("save_steps", "ckpt.save_steps"),
        "swift": "--save_steps",
    },
    "sync": {
        "verl": "actor_rollout_ref.rollout.checkpoint_engine.backend",
        "openrlhf": ("vllm_sync_backend", "vllm.sync_backend"),
        "swift": "--vllm_enable_lora",
    },
    "liger": {
        "trl": "use_liger_kernel",
        "verl": _MODEL + "use_liger",
        "openrlhf": ("use_liger_kernel", "ds.use_liger_kernel"),
        "swift": "--use_liger_kernel",
    },
    "attention": {
        "trl": "model_init_kwargs.attn_implementation",
        "openrlhf": ("attn_implementation", "ds.attn_implementation"),
        "swift": "--attn_impl",
    },
    "compile": {
        "trl": "torch_compile",
        "verl": _ACTOR + "use_torch_compile",
        "openrlhf": ("deepcompile", "ds.deepcompile"),
        "swift": "--torch_compile",
    },
    "strategy": {"verl": _ACTOR + "strategy"},
    "balance": {
        "verl": "trainer.balance_batch",
        "openrlhf": ("use_dynamic_batch", "train.dynamic_batch_enable"),
    },
    "total_steps": {
        "trl": "max_steps",
        "verl": "trainer.total_training_steps",
        "openrlhf": ("num_episodes", "train.num_episodes"),
        "swift": "--max_steps",
    },
    "filter": {
        "verl": "algorithm.filter_groups.enable",
        "openrlhf": ("dynamic_filtering", "algo.dynamic_filtering_enable"),
        "swift": "--dynamic_sample",
    },
    "gen_batch": {
        "verl": "data.gen_batch_size",
        "openrlhf": ("vllm_generate_batch_size", "rollout.vllm_generate_batch_size"),
    },
    "quantization": {"verl": _ROLLOUT + "quantization", "vllm": "--quantization"},
    "async_mode": {
        "trl": "trainer",
        "verl": "trainer.v1.trainer_mode",
        "openrlhf": ("async_train", "train.async_enable"),
        "swift": "--async_generate",
    },
    "partial_rollout": {
        "verl": "async_training.partial_rollout",
        "openrlhf": ("partial_rollout", "train.partial_rollout_enable"),
    },
    "over_sample": {"verl": _ROLLOUT + "over_sample_rate"},
    "num_iterations": {
        "trl": "num_iterations",
        "verl": _ACTOR + "ppo_epochs",
        "openrlhf": ("max_epochs", "train.max_epochs"),
        "swift": "--num_iterations",
    },
    "mask_truncated": {"trl": "mask_truncated_completions", "swift": "--overlong_filter"},
    "overlong": {
        "trl": "get_soft_overlong_punishment in reward_funcs",
        "verl": "reward_model.overlong_buffer.enable",
        "openrlhf": ("overlong_buffer_len", "reward.overlong_buffer_len"),
        "swift": "--reward_funcs",
    },
    "max_tokens": {
        "trl": "max_completion_length",
        "verl": "data.max_response_length",
        "openrlhf": ("generate_max_len", "rollout.max_new_tokens"),
        "swift": "--max_completion_length",
    },
    "group_size": {
        "trl": "num_generations",
        "verl": _ROLLOUT + "n",
        "openrlhf": ("n_samples_per_prompt", "rollout.n_samples_per_prompt"),
        "swift": "--num_generations",
    },
    "phases": {
        "trl": "report_to",
        "verl": "trainer.logger",
        "openrlhf": ("use_tensorboard", "logger.tensorboard_dir"),
        "swift": "--report_to",
    },
    "engine_stats": {"verl": _ROLLOUT + "disable_log_stats", "vllm": "disable_log_stats"},
    "spec_decode": {"vllm": "--speculative-config", "verl": "actor_rollout_ref.model.mtp"},
}  # fmt: skip

#: New value in one framework's own terms, where it is not the concept's.
_OWN: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("engine", "trl"): {"on": 'True, vllm_mode="colocate"'},
    ("engine", "verl"): {"on": "vllm"},
    ("engine", "openrlhf"): {"on": say("1 or more")},
    ("engine", "swift"): {"on": "true"},
    ("vllm_mode", "openrlhf"): {"colocate": say("true, with vllm and ds enable_sleep")},
    ("enable_sleep_mode", "swift"): {"off": "0"},
    ("async_mode", "trl"): {"on": say("AsyncGRPOTrainer (experimental)")},
    ("async_mode", "verl"): {"on": say("separate_async (older: the one_step_off_policy recipe)")},
    ("sync", "verl"): {"fast": "delta_sharded"},
    ("sync", "openrlhf"): {"fast": "nccl"},
    ("sync", "swift"): {"fast": say("true (LoRA only)")},
    ("beta", "verl"): {"off": say("False, and algorithm.use_kl_in_reward=False")},
    ("beta", "openrlhf"): {"off": "0"},
    ("overlong", "openrlhf"): {"on": say("a tenth of the limit")},
    ("overlong", "swift"): {"on": "soft_overlong"},
    ("phases", "trl"): {"on": say('"wandb" (offline), "mlflow" or "trackio"; logging_steps=1')},
    ("phases", "verl"): {"on": '["console","file"]'},
    ("phases", "swift"): {"on": say("wandb or tensorboard")},
    ("attention", "trl"): {"flash": "kernels-community/flash-attn2"},
    ("attention", "openrlhf"): {"flash": "flash_attention_2"},
    ("attention", "swift"): {"flash": "flash_attn"},
    ("reward_workers", "trl"): {"more": say("async def, so that several run at once")},
    ("reward_workers", "openrlhf"): {"more": say("several addresses")},
}
_PLAIN: Final = {
    "on": "True",
    "off": "False",
    "more": say("more"),
    "fast": say("the faster backend"),
    "flash": say("flash attention"),
}


def settings(case: Case, change: Mapping[str, str]) -> dict[str, str]:
    """The change in the framework's own spelling, "now -> new"; empty for a framework whose settings are not known.

    A run without a known framework that has engine samples is told vLLM's own arguments.
    """
    key = case.framework or ("vllm" if case.run.engine.height and case.run.info.framework is None else None)
    if key is None:
        return {}
    made: dict[str, str] = {}
    for concept, new in change.items():
        names = KNOBS[concept].get(key)
        if names is None:
            continue
        now = case.setting(concept, *_own_names(names))
        new = _OWN.get((concept, key), _PLAIN).get(new, _PLAIN.get(new, new))
        made[spelled(case, names)] = say("{now} -> {new}", now=show(now), new=new)
    return made


def present(case: Case, concept: str) -> SettingValue | None:
    """What the run has now under any spelling of a concept, or None."""
    every = [name for names in KNOBS[concept].values() for name in _own_names(names)]
    return case.setting(concept, *every)


def spelled(case: Case, names: str | Flags) -> str:
    """A framework's name for a setting; OpenRLHF's in the generation that this log uses."""
    if isinstance(names, str):
        return names
    old, dotted = names
    return f"--{dotted if _dotted(case) else old}"


def _dotted(case: Case) -> bool:
    """True unless the log shows flags of OpenRLHF before 0.10 (all of them without a dot)."""
    told = [each.source.rpartition(": ")[2] for each in case.run.info.settings.values() if each.kind == "measured"]
    flags = [name for name in told if name.replace("_", "").replace(".", "").isalnum()]
    return any("." in name for name in flags) or not flags


def _own_names(names: str | Flags) -> tuple[str, ...]:
    if isinstance(names, str):
        return names.lstrip("-"), f"trl.{names.lstrip('-')}"
    return names


def show(value: SettingValue | None) -> str:
    """A present value, or that the log does not hold it."""
    return say("(not in the log)") if value is None else str(value)
