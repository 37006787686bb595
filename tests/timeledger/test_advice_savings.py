"""Every rule: a run that fires it, one that must not, and its saving against the run done again with the change made."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pytest

from tests.engine_sim import Engine
from tests.world import World
from timeledger.advice import RULES, Advised, advise

VERL = "actor_rollout_ref."
PLAIN = World()
#: A KV cache for about a third of 128 sequences; with weights of 16 of 80 GiB, 0.7 instead of 0.5 makes it 1.67 times larger.
TIGHT = World(engine=Engine(kv_tokens=15_000), steps=12, planned=60, settings={"gpu_memory_utilization": 0.5})
ON_POLICY: dict[str, Any] = {VERL + "actor.ppo_mini_batch_size": 16, "num_iterations": 1}


@dataclass(frozen=True)
class Example:
    """A world that fires a rule, what to change in it so that the rule must be silent, and what the advice changes.

    `after` None: the advice promises no seconds.
    """

    rule: str
    fires: World
    silent: World
    after: World | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def _graphs() -> Example:
    # Launch costs that give the published 2.5x at one request and 1.13x at 64.
    eager = Engine(base_s=0.01, launch_s=0.018, each_s=0.002, kv_tokens=10**7)
    fires = World(engine=eager, prompts=4, steps=12, planned=60, settings={"enforce_eager": True})
    return Example(
        "R2", fires, fires.but(settings={"enforce_eager": False}), fires.but(engine=replace(eager, launch_s=0.0))
    )


EXAMPLES: tuple[Example, ...] = (
    Example("R4", World(decode_s=0.08, settings={"use_vllm": False}), World(settings={"use_vllm": True}), World(decode_s=0.02)),
    Example("R1", TIGHT, TIGHT.but(engine=Engine(kv_tokens=10**6)), TIGHT.but(engine=Engine(kv_tokens=25_000))),
    _graphs(),
    Example("R3", World(sync_s=8.0, sleep_s=6.0), World(sync_s=1.0), World(sync_s=4.0, sleep_s=3.0)),
    Example(
        "R9",
        TIGHT.but(engine=Engine(kv_tokens=10**6, max_seqs=32), settings={"max_num_seqs": 32}),
        TIGHT.but(engine=Engine(kv_tokens=10**6, max_seqs=256), settings={"max_num_seqs": 256}),
        TIGHT.but(engine=Engine(kv_tokens=10**6, max_seqs=64)),
    ),
    Example(
        "R9b",
        TIGHT.but(engine=Engine(kv_tokens=30_000, prefill_s=0.002), settings={"max_num_seqs": 256}),
        TIGHT.but(engine=Engine(kv_tokens=10**6)),
        TIGHT.but(engine=Engine(kv_tokens=30_000, prefill_s=0.002, max_seqs=62)),
    ),
    Example(
        "R5",
        World(padded=True, train_s=0.001, settings={VERL + "model.use_remove_padding": False}),
        World(train_s=0.001, settings={VERL + "model.use_remove_padding": True}),
        World(train_s=0.001),
    ),
    Example(
        "R6",
        World(padded=True, train_s=0.001, settings={VERL + "actor.use_dynamic_bsz": False}),
        World(train_s=0.001, settings={VERL + "actor.use_dynamic_bsz": True}),
        World(train_s=0.001),
    ),
    Example(
        "R7",
        World(train_s=0.001, settings={"per_device_batch": 2, "grad_accumulation": 8}, columns={"mem_gib": 30.0}),
        World(train_s=0.001, settings={"per_device_batch": 2, "grad_accumulation": 8}, columns={"mem_gib": 75.0}),
        World(train_s=0.00088),
        {"gpu_gib": 80.0},
    ),
    Example(
        "R8",
        World(old_pass=True, pass_overhead_s=6.0),
        World(old_pass=True),
        World(old_pass=True, pass_overhead_s=3.0),
    ),
    Example("R17", World(old_pass=True, settings=ON_POLICY), World(old_pass=True, settings=ON_POLICY | {"num_iterations": 2}), World()),
    Example("R18", World(reward_s=0.15), World(reward_s=0.001), World(reward_s=0.15, workers=4)),
    Example("R19", World(eval_every=5, eval_s=120.0, steps=60), World(eval_every=20, eval_s=20.0), World(eval_every=20, eval_s=120.0, steps=60)),
    Example("R20", World(save_every=5, save_s=40.0, steps=60), World(save_every=60, save_s=10.0, steps=60), World(save_every=50, save_s=40.0, steps=60)),
    Example("R21", World(sync_s=12.0), World(sync_s=0.5), World(sync_s=6.0)),
    Example("R15", World(sleep_s=9.0), World(sleep_s=0.5), World(), {}),
    Example(
        "R14",
        World(framework="TRL", settings={"vllm_mode": "server"}, train_s=0.001),
        World(framework="TRL", settings={"vllm_mode": "colocate"}),
        World(train_s=0.0007, decode_s=0.014, each_s=0.00007),
    ),
    Example(
        "R13",
        World(decode_s=0.022, settings={"tensor_parallel_size": 4, "model": "Qwen/Qwen2-7B-Instruct"}),
        World(settings={"tensor_parallel_size": 1, "model": "Qwen/Qwen2-7B-Instruct"}),
        World(decode_s=0.019),
        {"gpu_gib": 80.0},
    ),
    Example(
        "R16",
        World(recompute=True, train_s=0.001, settings={"gradient_checkpointing": True}, columns={"mem_gib": 30.0}),
        World(train_s=0.001, settings={"gradient_checkpointing": True}, columns={"mem_gib": 70.0}),
        World(train_s=0.00107),
        {"gpu_gib": 80.0},
    ),
    Example(
        "R26",
        World(slow_rank=1.3, train_s=0.001, extra={"global_seqlen/mean": 1000.0, "global_seqlen/max": 1300.0, "global_seqlen/min": 700.0}),
        World(extra={"global_seqlen/mean": 1000.0, "global_seqlen/max": 1050.0, "global_seqlen/min": 950.0}),
        World(slow_rank=1.05, train_s=0.001),
    ),
    Example("R10", World(limit=1024, settings={"max_model_len": 32768, "max_prompt_tokens": 512}), World(limit=1024, settings={"max_model_len": 2048, "max_prompt_tokens": 512})),
    Example(
        "R11",
        World(columns={"prompt_len": 400.0}, settings={VERL + "rollout.enable_prefix_caching": False}),
        World(columns={"prompt_len": 400.0}, settings={VERL + "rollout.enable_prefix_caching": True}),
        World(decode_s=0.0195, columns={"prompt_len": 400.0}),
    ),
    Example(
        "R12",
        World(columns={"prompt_len": 6000.0}, settings={VERL + "rollout.enable_chunked_prefill": False}),
        World(columns={"prompt_len": 6000.0}, settings={VERL + "rollout.enable_chunked_prefill": True}),
    ),
    Example(
        "R22",
        World(train_s=0.001, settings={VERL + "model.use_liger": False}),
        World(train_s=0.001, settings={VERL + "model.use_liger": True}),
        World(train_s=0.001 / 1.15),
    ),
    Example("R23", World(mean=3000, framework="OpenRLHF", settings={"attn_implementation": "eager"}), World(mean=3000, settings={"attn_implementation": "flash_attention_2"})),
    Example("R24", World(train_s=0.001, settings={VERL + "actor.use_torch_compile": False}), World(train_s=0.001, settings={VERL + "actor.use_torch_compile": True})),
    Example(
        "R25",
        World(settings={VERL + "actor.strategy": "fsdp", "gpus": 8}),
        World(settings={VERL + "actor.strategy": "fsdp2", "gpus": 8}),
        World(train_s=0.0004 / 1.015),
    ),
    Example("R28", World(sigma=0.9), World(train_s=0.002), World(sigma=0.9, speedup=1.7)),
    Example("R29", World(silent=0.5), World(silent=0.1), World(useful=0.5)),
    Example(
        "R30",
        World(gen_batches=3, extra={"train/num_gen_batches": 3.0}),
        World(extra={"train/num_gen_batches": 1.0}),
        World(gen_batches=2),
    ),
    Example(
        "R31",
        World(old_pass=True, train_s=0.001, extra={"training/rollout_probs_diff_mean": 0.002}),
        World(old_pass=True, train_s=0.001, extra={"training/rollout_probs_diff_mean": 0.02}),
        World(train_s=0.001),
    ),
    Example("R33", World(settings={"gpus": 8}, train_s=0.0006), World(settings={"gpus": 1}, train_s=0.0006), World(train_s=0.0006, overlap=True)),
    Example("R34", World(sigma=0.9, settings={"gpus": 32}), World(settings={"gpus": 32}), World(sigma=0.9, speedup=1.5)),
    Example(
        "R35",
        World(engine=Engine(kv_tokens=10**7, max_seqs=512), sigma=1.0, steps=12, planned=60),
        World(engine=Engine(kv_tokens=10**7, max_seqs=512), sigma=0.1, steps=12, planned=60),
        World(engine=Engine(kv_tokens=10**7, max_seqs=512, stop_share=0.1), sigma=1.0, steps=12, planned=60),
    ),
    Example("R36", World(train_s=0.0001, settings={"num_iterations": 1}), World(train_s=0.0001, settings={"num_iterations": 2}), World(train_s=0.0001, speedup=2.0)),
    Example(
        "R32",
        TIGHT.but(train_s=0.0001, settings={"model": "Qwen3-8B"}),
        TIGHT.but(train_s=0.0001, settings={"model": "Qwen3-0.6B"}),
        TIGHT.but(train_s=0.0001, engine=Engine(kv_tokens=22_000, base_s=0.018)),
    ),
    Example("R27", World(steps=300, planned=400, rising_until=0.3), World(steps=300, planned=400), World(steps=300, planned=350, rising_until=0.3)),
    Example("R37", World(limit=400), World(limit=8192)),
    Example(
        "R38",
        World(growth=2.5, steps=120, rising_until=0.1),
        World(growth=2.5, steps=120),
        World(mean=400.0 * (1 + 1.5 * 75 / 240)),
    ),
    Example("R39", World(prompts=64, sigma=0.8, limit=4096), World(prompts=64, sigma=0.8, limit=900), World(prompts=64, sigma=0.8, limit=2112)),
    Example("R40", World(), World(group=4), World(group=4)),
)  # fmt: skip
IDS = [each.rule for each in EXAMPLES]


@cache
def advised(rule: str) -> Advised:
    """The advice on the world that fires a rule."""
    example = EXAMPLES[IDS.index(rule)]
    return advise(example.fires.analysis(**example.facts))


@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_it_fires_and_is_silent_where_it_must(example: Example) -> None:
    found = advised(example.rule).find(example.rule)
    assert found is not None
    assert found.symptom
    assert found.evidence
    assert advise(example.silent.analysis(**example.facts)).find(example.rule) is None


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.after is not None], ids=lambda each: each.rule)
def test_the_saving_holds_in_the_run_done_again(example: Example) -> None:
    found = advised(example.rule).find(example.rule)
    assert found is not None
    assert example.after is not None
    assert found.saves_s is not None
    assert found.of == "the remaining run"
    after = example.after.but(steps=example.fires.steps)
    saved = example.fires.remaining_s() - after.remaining_s()
    assert saved > 0
    assert 0.97 * found.saves_s.low <= saved <= 1.03 * found.saves_s.high, (found.saves_s, saved)


def test_every_rule_but_the_looking_ones_has_an_example() -> None:
    assert {rule.id for rule in RULES if rule.tier > 0} == set(IDS)
