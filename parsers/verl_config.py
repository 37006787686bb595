"""verl's configuration as its logs hold it: the printed dict at the start, or the overrides of the command line."""

from __future__ import annotations

import re
from typing import Final

from parsers.build import RunBuilder
from parsers.literals import plain
from timeledger.run import SettingValue

_ROLLOUT: Final = "actor_rollout_ref.rollout."
_ACTOR: Final = "actor_rollout_ref.actor."
_MODEL: Final = "actor_rollout_ref.model."
#: Path in verl's configuration -> setting. Where two name one setting, the earlier wins.
PATHS: Final = {
    "data.train_batch_size": "prompts_per_step",
    "data.max_response_length": "max_tokens",
    "data.max_prompt_length": "max_prompt_tokens",
    _ROLLOUT + "n": "group_size",
    _ROLLOUT + "temperature": "temperature",
    _ROLLOUT + "gpu_memory_utilization": "gpu_memory_utilization",
    _ROLLOUT + "enforce_eager": "enforce_eager",
    _ROLLOUT + "max_num_seqs": "max_num_seqs",
    _ROLLOUT + "max_model_len": "max_model_len",
    _ROLLOUT + "tensor_model_parallel_size": "tensor_parallel_size",
    _ROLLOUT + "free_cache_engine": "enable_sleep_mode",
    _ACTOR + "optim.lr": "learning_rate",
    _ACTOR + "kl_loss_coef": "beta",
    _ACTOR + "ppo_micro_batch_size_per_gpu": "per_device_batch",
    _ACTOR + "ppo_epochs": "num_iterations",
    "actor_rollout_ref.model.path": "model",
    "actor_rollout_ref.model.enable_gradient_checkpointing": "gradient_checkpointing",
    "algorithm.adv_estimator": "algorithm",
    "trainer.total_epochs": "epochs",
    "trainer.total_training_steps": "total_steps",
    "trainer.val_before_train": "eval_at_start",
    "trainer.test_freq": "eval_steps",
    "trainer.save_freq": "save_steps",
}
#: Kept under their own names: what advice about a run may need.
_KEPT: Final = frozenset(
    {
        _ROLLOUT + "name", _ROLLOUT + "mode", _ROLLOUT + "max_num_batched_tokens", _ROLLOUT + "disable_log_stats",
        _ROLLOUT + "val_kwargs.n", _ROLLOUT + "enable_chunked_prefill", _ROLLOUT + "enable_prefix_caching",
        _ROLLOUT + "log_prob_micro_batch_size_per_gpu", _ROLLOUT + "data_parallel_size", _ROLLOUT + "layered_summon",
        _ACTOR + "ppo_mini_batch_size", _ACTOR + "use_dynamic_bsz", _ACTOR + "ppo_max_token_len_per_gpu",
        _ACTOR + "strategy", _ACTOR + "use_kl_loss", _ACTOR + "fsdp_config.param_offload",
        _ACTOR + "fsdp_config.optimizer_offload", _ACTOR + "ulysses_sequence_parallel_size",
        _ACTOR + "use_torch_compile", _ACTOR + "entropy_coeff", "actor_rollout_ref.model.use_remove_padding",
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", "actor_rollout_ref.ref.fsdp_config.param_offload",
        "algorithm.use_kl_in_reward", "algorithm.filter_groups.enable", "algorithm.kl_ctrl.kl_coef",
        "data.val_batch_size", "data.dataloader_num_workers", "data.shuffle",
        _MODEL + "use_liger", _ROLLOUT + "quantization", "algorithm.rollout_correction.bypass_mode",
        "reward.num_workers", "data.gen_batch_size",
        "reward_model.enable", "reward_model.launch_reward_fn_async", "trainer.n_gpus_per_node", "trainer.nnodes",
        "trainer.use_v1", "trainer.v1.trainer_mode", "trainer.resume_mode", "trainer.balance_batch",
        "trainer.project_name", "trainer.experiment_name", "async_training.staleness_threshold",
        "async_training.trigger_parameter_sync_step", "async_training.partial_rollout",
    }
)  # fmt: skip
#: A frequency of -1 or 0 means never: the setting is then absent.
_FREQUENCIES: Final = {"eval_steps", "save_steps"}

_TOKEN: Final = re.compile(
    r"'(?P<key>[\w.\-/ ]+)': |(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<open>\{)|(?P<close>\})"
)
_SCALAR: Final = re.compile(r"'[^']*'|\"[^\"]*\"|[^,{}\[\]()]+")
_LAST_LINE: Final = 4000
#: So many other lines of the same process in a row mean that the dict is over, whatever its braces say.
_STRANGERS: Final = 40


def settle(build: RunBuilder, found: dict[str, SettingValue], source: str) -> None:
    """Turn configuration values, by dotted path, into settings. Those of a later session replace an earlier one's."""
    again = build.last_step is not None
    for path, name in PATHS.items():
        value = found.get(path)
        if name in _FREQUENCIES and (not isinstance(value, int) or value <= 0):
            continue
        build.setting(name, value, f"{source}: {path}", replace=again)
    for path in sorted(_KEPT & found.keys()):
        build.setting(path, found[path], f"{source}: {path}", replace=again)
    _products(build, found, source)


def _products(build: RunBuilder, found: dict[str, SettingValue], source: str) -> None:
    per_node, nodes = found.get("trainer.n_gpus_per_node"), found.get("trainer.nnodes", 1)
    if isinstance(per_node, int) and isinstance(nodes, int) and per_node * nodes > 0:
        build.setting("gpus", per_node * nodes, f"{source}: trainer.n_gpus_per_node x trainer.nnodes", replace=True)
    prompts, group = found.get("data.train_batch_size"), found.get(_ROLLOUT + "n")
    if isinstance(prompts, int) and isinstance(group, int):
        where = f"{source}: data.train_batch_size x {_ROLLOUT}n"
        build.setting("sequences_per_step", prompts * group, where, "inferred")
    if isinstance(every := found.get("trainer.test_freq"), int):
        where = f"{source}: trainer.test_freq (the last step is validated when it is above 0)"
        build.setting("eval_at_end", every > 0, where, "inferred")


class ConfigDump:
    """Reads the configuration that verl pretty-prints at its start: one dict over hundreds of lines.

    Nested keys stand to the right of the key around them, so that a line lost to another process costs no more than
    itself.
    """

    def __init__(self) -> None:
        self.found: dict[str, SettingValue] = {}
        self._path: list[tuple[int, str]] = []
        self._actor = ""
        self._left = 0
        self._strange = 0

    @property
    def active(self) -> bool:
        """True between the first and the last line of the dict."""
        return self._left > 0

    def begins(self, actor: str, text: str) -> bool:
        """True when this line begins the dict; it is read."""
        if not text.startswith("{'actor_rollout_ref'"):
            return False
        self.found, self._path, self._actor, self._left = {}, [], actor, _LAST_LINE
        self.take(actor, text)
        return True

    def take(self, actor: str, text: str) -> bool:
        """Read one more line of the dict; False when the line is not of it (another process, or a warning between)."""
        if actor != self._actor:
            return False
        self._left -= 1
        if text[:1] not in {" ", "{", "'"}:
            self._strange += 1
            if self._strange > _STRANGERS:
                self._left = 0
            return False
        self._strange = 0
        first = True
        for token in _TOKEN.finditer(text):
            if token["key"] is not None:
                self._key(token, text, first)
                first = False
            elif token["open"] and not self._opened(text, token.start()):
                self._path.append((token.start(), ""))
            elif token["close"] and self._path:
                self._path.pop()
        if not self._path:
            self._left = 0
        return True

    @staticmethod
    def _opened(text: str, at: int) -> bool:
        """True when the brace belongs to a key before it, which is on the path already."""
        return text[:at].endswith("': ")

    def _key(self, token: re.Match[str], text: str, first: bool) -> None:
        if first:
            while len(self._path) > 1 and self._path[-1][0] >= token.start():
                self._path.pop()
        if text.startswith("{", token.end()):
            self._path.append((token.start(), token["key"]))
            return
        scalar = _SCALAR.match(text, token.end())
        value = plain(scalar.group()) if scalar else None
        if value is not None:
            self.found[".".join([*(name for _, name in self._path if name), token["key"]])] = value
