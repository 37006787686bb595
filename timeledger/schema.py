"""The rows of a run: polars schemas, canonical names, and the door through which every frame enters.

A missing quantity is null, never 0. The unit is part of the name: `_s` seconds, `_tok_s` tokens a second,
`_gib` GiB; lengths are tokens; shares (`truncated`, `zero_std`, `kv_cache`, ...) are 0..1.
"""

from __future__ import annotations

from typing import Final

import polars as pl

UTC_TIME: Final[pl.DataType] = pl.Datetime("us", "UTC")
Columns = dict[str, pl.DataType | type[pl.DataType]]


def columns(types: Columns) -> pl.Schema:
    """A polars schema from names and types."""
    return pl.Schema(types)


#: One row a logged step and segment. `segment` counts sessions of one run (resume, restart) from 0.
#: `span` is how many steps the row stands for (the logging interval); per-step values of the row are means over it.
#: `step_s` is the framework's own step time, a mean over the span; `elapsed_s` the log's own running clock at
#: this row, counted within the segment; `wall_s` the true time of one step, filled by `timeledger.clock`.
#: `len_*` count response tokens only; `tokens` counts prompt + response tokens of one step over all ranks
#: (where one generation serves several steps, they stand in the row of the step that generated, nowhere else);
#: `gen_tok_s` and `train_tok_s` are rates over the whole job, not a GPU.
STEPS: Final = columns(
    {
        "segment": pl.Int64,
        "step": pl.Int64,
        "span": pl.Int64,
        "line": pl.Int64,
        "at": UTC_TIME,
        "elapsed_s": pl.Float64,
        "step_s": pl.Float64,
        "wall_s": pl.Float64,
        "len_mean": pl.Float64,
        "len_max": pl.Float64,
        "len_min": pl.Float64,
        "truncated": pl.Float64,
        "prompt_len": pl.Float64,
        "prompts": pl.Float64,
        "sequences": pl.Float64,
        "tokens": pl.Float64,
        "gen_tok_s": pl.Float64,
        "train_tok_s": pl.Float64,
        "reward": pl.Float64,
        "reward_std": pl.Float64,
        "acc": pl.Float64,
        "adv_mean": pl.Float64,
        "adv_std": pl.Float64,
        "ratio": pl.Float64,
        "clipfrac": pl.Float64,
        "kl": pl.Float64,
        "entropy": pl.Float64,
        "grad_norm": pl.Float64,
        "lr": pl.Float64,
        "loss": pl.Float64,
        "zero_std": pl.Float64,
        "mem_gib": pl.Float64,
        "epoch": pl.Float64,
    }
)
#: Columns of STEPS that hold a measured quantity (everything but the row's place).
MEASURES: Final = tuple(name for name in STEPS if name not in {"segment", "step", "span", "line"})

#: Canonical phases, in the order in which a step runs them. A framework's phase that maps to none is `other`.
PHASE_NAMES: Final = (
    "rollout",
    "reward",
    "old_logprob",
    "ref_logprob",
    "values",
    "advantage",
    "update",
    "update_critic",
    "weight_sync",
    "sleep_wake",
    "data",
    "evaluation",
    "checkpoint",
    "wait",
    "other",
)
#: The lesson's parts a phase belongs to.
ROLLUP: Final = {
    "rollout": "sampling",
    "reward": "reward",
    "old_logprob": "forward-backward",
    "ref_logprob": "forward-backward",
    "values": "forward-backward",
    "advantage": "forward-backward",
    "update": "forward-backward",
    "update_critic": "forward-backward",
    "weight_sync": "weight sync",
    "sleep_wake": "sleep/wake",
    "data": "other",
    "evaluation": "evaluation",
    "checkpoint": "checkpoint",
    "wait": "waiting",
    "other": "other",
}

#: Long: one row a step and phase. `name` is the framework's own key. `parent` is the own key of the phase that
#: contains it (null for a top-level phase): only top-level phases are ever added. `outside` is true when the
#: phase is not part of `step_s` (null: not known, `breakdown` finds out). `overlaps` is true when it runs at the
#: same time as other phases (async generation) and must not be added at all. Seconds are of one step.
PHASES: Final = columns(
    {
        "segment": pl.Int64,
        "step": pl.Int64,
        "phase": pl.String,
        "name": pl.String,
        "parent": pl.String,
        "outside": pl.Boolean,
        "overlaps": pl.Boolean,
        "seconds": pl.Float64,
    }
)

#: Samples of an inference engine. `kind`: "log" (periodic engine line), "bar" (end of a generation bar),
#: "bench" (a benchmark's result), "metrics" (a Prometheus scrape, rates only when two are compared).
#: `interval_s` is the window that the rates cover (null: not known). `preemptions` counts in the window.
ENGINE: Final = columns(
    {
        "at": UTC_TIME,
        "line": pl.Int64,
        "kind": pl.String,
        "engine": pl.String,
        "interval_s": pl.Float64,
        "gen_tok_s": pl.Float64,
        "prompt_tok_s": pl.Float64,
        "running": pl.Float64,
        "waiting": pl.Float64,
        "kv_cache": pl.Float64,
        "prefix_hit": pl.Float64,
        "preemptions": pl.Float64,
        "requests": pl.Float64,
        "gen_tokens": pl.Float64,
    }
)

EVENT_KINDS: Final = (
    "evaluation",
    "checkpoint",
    "sleep",
    "wake",
    "weight_sync",
    "start",
    "resume",
    "restart",
    "finish",
    "crash",
    "warning",
)
#: Things that happened once. `step` is the last finished step (null: not known); `seconds` its own duration.
EVENTS: Final = columns(
    {
        "segment": pl.Int64,
        "step": pl.Int64,
        "line": pl.Int64,
        "at": UTC_TIME,
        "kind": pl.String,
        "seconds": pl.Float64,
        "text": pl.String,
    }
)

#: The training progress bar, one row an update: `elapsed_s` has the bar's own resolution (1 s for tqdm).
PROGRESS: Final = columns(
    {
        "segment": pl.Int64,
        "step": pl.Int64,
        "total": pl.Int64,
        "elapsed_s": pl.Float64,
        "remaining_s": pl.Float64,
        "line": pl.Int64,
    }
)

#: Settings a log may reveal, by canonical name. Any other setting is kept under its own dotted name.
SETTINGS: Final = {
    "total_steps": "optimizer steps planned",
    "epochs": "epochs planned",
    "group_size": "answers sampled per prompt (G)",
    "prompts_per_step": "prompts per step",
    "sequences_per_step": "sequences per step (prompts x G)",
    "max_tokens": "limit on response tokens",
    "max_prompt_tokens": "limit on prompt tokens",
    "logging_steps": "steps between two logged rows",
    "eval_steps": "steps between two evaluations",
    "save_steps": "steps between two checkpoints",
    "eval_at_start": "an evaluation before the first step",
    "eval_at_end": "an evaluation after the last step",
    "eval_questions": "questions of one evaluation",
    "gpus": "GPUs of the whole job",
    "per_device_batch": "sequences a device and micro-batch",
    "grad_accumulation": "micro-batches per optimizer step",
    "num_iterations": "optimizer passes over one generation (mu)",
    "steps_per_generation": "micro-batches served by one generation",
    "learning_rate": "peak learning rate",
    "beta": "KL coefficient",
    "temperature": "sampling temperature",
    "use_vllm": "an inference engine generates",
    "vllm_mode": "colocate or server",
    "gpu_memory_utilization": "share of GPU memory given to the engine",
    "enforce_eager": "CUDA graphs off",
    "max_num_seqs": "sequences the engine runs at once",
    "max_model_len": "longest sequence the engine accepts",
    "tensor_parallel_size": "GPUs one engine spans",
    "enable_sleep_mode": "the engine frees its memory while training",
    "kv_cache_tokens": "tokens that fit into the KV cache",
    "gradient_checkpointing": "activations recomputed in the backward pass",
    "async_mode": "generation overlaps training",
    "model": "model name",
    "algorithm": "GRPO, RLOO, PPO, ...",
    "gen_tok_s": "measured generation throughput (tok/s)",
    "train_tok_s": "measured training throughput (tok/s)",
}


def empty(schema: pl.Schema) -> pl.DataFrame:
    """A frame of this schema without rows."""
    return pl.DataFrame(schema=schema)


def conform(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The frame with exactly the schema's columns, order and types; missing columns are null, unknown ones an error.

    Raises:
        ValueError: the frame has a column that the schema does not know (a programming error, not bad input).
    """
    unknown = [name for name in frame.columns if name not in schema]
    if unknown:
        raise ValueError(f"columns not in the schema: {', '.join(unknown)}")
    return frame.select(
        pl.col(name).cast(dtype) if name in frame.columns else pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in schema.items()
    )
