"""The training side: padding, micro-batches, passes that repeat each other, kernels, ranks."""

from __future__ import annotations

from typing import Final

from timeledger.advice.base import Found
from timeledger.advice.case import Case, between
from timeledger.advice.knobs import present
from timeledger.results import Span
from timeledger.said import listing, say
from timeledger.units import show_number, show_seconds, show_share

_TRAINING: Final = ("old_logprob", "ref_logprob", "values", "update", "update_critic")
_PASSES: Final = ("old_logprob", "ref_logprob")
#: A forward pass alone is about a third of forward and backward.
_FORWARD: Final = 1 / 3


def _padding(case: Case) -> float:
    """The most that padding can be: 1 - mean/longest answer."""
    return 1 - 1 / case.tail if case.tail and case.tail > 1 else 0.0


def _on(case: Case, share: Span) -> dict[str, Span]:
    """The same saving on every part of training that this log measures."""
    return {phase: share for phase in _TRAINING if phase in case.phases}


def remove_padding(case: Case) -> Found | None:
    """Sequences are padded to the longest of their batch, and the padding is computed too."""
    share, padded = case.share(*_TRAINING), _padding(case)
    if present(case, "remove_padding") is not False or share <= 0.3 or padded <= 0.3:
        return None
    symptom = say(
        "Training is {share} of a step, padding is on, and the longest answer is {times} times the mean one.",
        share=show_share(share),
        times=show_number(case.tail),
    )
    evidence = {"training_share": round(share, 3), "padding_at_most": round(padded, 3)}
    return Found(symptom, evidence, _on(case, between(0.0, 0.5 * padded, padded)), {"remove_padding": "on"})


def dynamic_batch(case: Case) -> Found | None:
    """Micro-batches hold a fixed number of sequences, so short ones leave the GPU half empty."""
    share, padded = case.share(*_TRAINING), _padding(case)
    if present(case, "dynamic_batch") is not False or share <= 0.15 or padded <= 0.3:
        return None
    symptom = say(
        "Micro-batches hold a fixed number of sequences, and the longest answer is {times} times the mean one.",
        times=show_number(case.tail),
    )
    evidence = {"training_share": round(share, 3), "longest_over_mean": round(case.tail or 0.0, 2)}
    return Found(symptom, evidence, _on(case, between(0.0, 0.25 * padded, padded)), {"dynamic_batch": "on"})


def bigger_micro_batch(case: Case) -> Found | None:
    """Memory is free and gradients are accumulated over several micro-batches."""
    used, batch, micro = case.memory_used, case.number("per_device_batch"), case.number("grad_accumulation")
    if used is None or used >= 0.8 or not batch or (micro is not None and micro <= 1):
        return None
    factor = 2 if used > 0.4 else 4
    symptom = say(
        "Peak memory is {used} of the card with {batch} sequences a micro-batch.",
        used=show_share(used),
        batch=show_number(batch),
    )
    evidence = {"memory_used": round(used, 3), "per_device_batch": batch}
    new = {
        "per_device_batch": say(
            "{batch}, and accumulate {factor} times less", batch=round(batch * factor), factor=factor
        )
    }
    return Found(symptom, evidence, {"update": Span(0.0, 0.1, 0.3)} if "update" in case.phases else {}, new)


def bigger_logprob_batch(case: Case) -> Found | None:
    """A forward-only pass takes longer against the update than a forward pass should."""
    epochs = max(case.number("num_iterations") or 1.0, 1.0)
    one = case.share("update") / epochs
    slow = {phase: case.share(phase) for phase in _PASSES if one > 0 and case.share(phase) / one > 0.4}
    if not slow:
        return None
    removes = {phase: between(0.0, 0.5 * _spare(share, one), _spare(share, one)) for phase, share in slow.items()}
    told = listing(_pass(phase, show_share(share)) for phase, share in slow.items())
    symptom = say(
        "Forward-only passes weigh {passes} of a step against {update} for forward and backward.",
        passes=told,
        update=show_share(one),
    )
    evidence = {"pass_over_update": round(max(slow.values()) / one, 3)}
    now = case.number(
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
        "rollout.micro_batch_size",
        "micro_rollout_batch_size",
    )
    return Found(symptom, evidence, removes, {"logprob_batch": f"{round(2 * now)}" if now else say("twice as large")})


def _pass(phase: str, share: str) -> str:
    return (
        say("old logprob {share}", share=share) if phase == "old_logprob" else say("ref logprob {share}", share=share)
    )


def _spare(share: float, update: float) -> float:
    """What a pass could lose until it is a third of the update, at most half of it."""
    return min(1 - _FORWARD * update / share, 0.5)


def no_checkpointing(case: Case) -> Found | None:
    """Activations are computed twice to save memory that is free."""
    used, share = case.memory_used, case.share("update")
    if case.says("gradient_checkpointing") is not True or share <= 0.3 or used is None or used >= 0.6:
        return None
    symptom = say(
        "Gradient checkpointing recomputes activations; the update is {share} of a step and peak memory {memory}.",
        share=show_share(share),
        memory=show_share(used),
    )
    evidence = {"update_share": round(share, 3), "memory_used": round(used, 3)}
    return Found(symptom, evidence, {"update": Span(0.1, 0.18, 0.25)}, {"gradient_checkpointing": "off"})


def redundant_pass(case: Case) -> Found | None:
    """A log-prob pass computes what is known already, or what nothing uses."""
    removes: dict[str, Span] = {}
    told, evidence, change = [], {}, {}
    if case.share("ref_logprob") > 0.01 and _no_kl(case):
        removes["ref_logprob"] = Span(1.0, 1.0, 1.0)
        told.append(
            say(
                "the reference pass ({share}) although the KL coefficient is 0",
                share=show_share(case.share("ref_logprob")),
            )
        )
        evidence["ref_share"] = round(case.share("ref_logprob"), 3)
        change["beta"] = "off"
    if case.share("old_logprob") > 0.01 and _on_policy(case):
        removes["old_logprob"] = Span(1.0, 1.0, 1.0)
        told.append(
            say(
                "the old log-probs ({share}) although one update follows each generation",
                share=show_share(case.share("old_logprob")),
            )
        )
        evidence["old_share"] = round(case.share("old_logprob"), 3)
        change["bypass"] = "on"
    if not removes:
        return None
    time = show_seconds(case.seconds(*removes))
    symptom = say("Each step computes {passes}: {time} for nothing.", passes=listing(told), time=time)
    return Found(symptom, evidence, removes, change)


def _no_kl(case: Case) -> bool:
    """True when the log says that no KL term uses the reference."""
    in_loss, in_reward = case.says("actor_rollout_ref.actor.use_kl_loss"), case.says("algorithm.use_kl_in_reward")
    if in_loss is not None or in_reward is not None:
        return in_loss is False and in_reward is False
    return case.number("beta") == 0


def _on_policy(case: Case) -> bool:
    """True when the log says that exactly one optimizer step follows each generation (verl; TRL skips the pass itself then)."""
    mini = case.number("actor_rollout_ref.actor.ppo_mini_batch_size")
    return mini is not None and mini == case.number("prompts_per_step") and case.number("num_iterations") == 1


def fused_kernels(case: Case) -> Found | None:
    """The update runs without fused kernels."""
    if present(case, "liger") is not False or case.share("update") <= 0.3:
        return None
    symptom = say(
        "The update is {share} of a step, without Liger's fused kernels.", share=show_share(case.share("update"))
    )
    return Found(
        symptom, {"update_share": round(case.share("update"), 3)}, {"update": Span(0.0, 0.1, 0.17)}, {"liger": "on"}
    )


def fast_attention(case: Case) -> Found | None:
    """Long answers with plain attention."""
    now, length = present(case, "attention"), case.late("len_mean")
    plain = now in {"eager", "sdpa"} or case.says("flash_attn") is False
    if not plain or not length or length <= 2000:
        return None
    attention = str(now) if now else say("plain")
    symptom = say(
        "Answers of {length} tokens with {attention} attention.", length=show_number(length), attention=attention
    )
    return Found(symptom, {"len_mean": round(length, 1), "attention": str(now or "plain")}, {}, {"attention": "flash"})


def compiled(case: Case) -> Found | None:
    """The update is large and not compiled."""
    if present(case, "compile") is not False or case.share("update") <= 0.3:
        return None
    left = case.analysis.projection.total_steps
    symptom = say("The update is {share} of a step and not compiled.", share=show_share(case.share("update")))
    evidence = {"update_share": round(case.share("update"), 3)} | ({"planned_steps": left} if left else {})
    return Found(symptom, evidence, {}, {"compile": "on"})


def newer_fsdp(case: Case) -> Found | None:
    """FSDP's first version on several GPUs."""
    if case.setting("actor_rollout_ref.actor.strategy") != "fsdp" or (case.gpus or 1) < 2:
        return None
    symptom = say("The actor trains with FSDP's first version on {gpus} GPUs.", gpus=show_number(case.gpus))
    return Found(
        symptom,
        {"strategy": "fsdp", "gpus": case.gpus or 0.0},
        {"update": Span(0.0, 0.015, 0.05)},
        {"strategy": "fsdp2"},
    )


def balance_ranks(case: Case) -> Found | None:
    """Some ranks get many more tokens than others, and all wait for the fullest."""
    mean = case.extra("global_seqlen/mean")
    most, least = case.extra("global_seqlen/balanced_max"), case.extra("global_seqlen/balanced_min")
    if most is None or least is None:
        most, least = case.extra("global_seqlen/max"), case.extra("global_seqlen/min")
    if not mean or most is None or least is None or (most - least) / mean <= 0.2:
        return None
    symptom = say(
        "The fullest rank trains {most} tokens a step, the emptiest {least}: all wait for the fullest.",
        most=show_number(most),
        least=show_number(least),
    )
    gain = 1 - mean / most
    evidence = {"spread_over_mean": round((most - least) / mean, 3)}
    return Found(symptom, evidence, _on(case, between(0.0, 0.7 * gain, gain)), {"balance": "on"})


def bypass(case: Case) -> Found | None:
    """The engine's own log-probs are close enough to stand for the old ones."""
    share, apart = case.share("old_logprob"), case.extra("training/rollout_probs_diff_mean")
    if share <= 0.08 or apart is None or apart >= 0.005 or present(case, "bypass") is True:
        return None
    symptom = say(
        "The old log-probs take {share} of a step, and the engine's own differ by {apart} only.",
        share=show_share(share),
        apart=show_number(apart),
    )
    evidence = {"old_share": round(share, 3), "rollout_probs_diff_mean": round(apart, 6)}
    return Found(symptom, evidence, {"old_logprob": Span(1.0, 1.0, 1.0)}, {"bypass": "on"})
