"""Generation: what the engine waits for, how it is started, how it is spread over GPUs."""

from __future__ import annotations

import math
from typing import Final

from timeledger.advice.base import Found
from timeledger.advice.case import Case, between
from timeledger.advice.knobs import present
from timeledger.results import Span
from timeledger.said import say
from timeledger.units import show_number, show_share

#: A state of the engine must fill this share of its running time before it is worth a card.
_ENOUGH: Final = 0.10
#: Share of GPU memory beyond which no more is asked for.
_MOST_MEMORY: Final = 0.94
#: Speed-up of decoding by CUDA graphs at batch 1 and 64 (third-party measurements of a small model).
_GRAPHS: Final = (2.5, 1.13)


def _waiting(case: Case, *states: str) -> tuple[float, float]:
    """Share of the running time in these states, and the share of requests that waited then."""
    engine = case.engine
    running, waiting = engine.stuck_running or 0.0, engine.stuck_waiting or 0.0
    queued = waiting / (running + waiting) if running + waiting > 0 else 0.0
    return sum(engine.share(state) for state in states), queued


def _queue_words(case: Case) -> str:
    engine = case.engine
    queue = {"running": show_number(engine.stuck_running), "waiting": show_number(engine.stuck_waiting)}
    if engine.kv_peak is None:
        return say("{running} requests running and {waiting} waiting", **queue)
    full = say("{n} %", n=f"{100 * engine.kv_peak:.1f}")
    return say("KV cache up to {share} full, {running} requests running and {waiting} waiting", share=full, **queue)


def use_engine(case: Case) -> Found | None:
    """Answers come from the training framework's own generate(), token by token."""
    if case.engine_used is not False:
        return None
    share = case.share("rollout")
    told = say("Sampling runs without an inference engine.")
    if share:
        told = say("Sampling is {share} of a step and runs without an inference engine.", share=show_share(share))
    removes = {"rollout": Span(0.0, 0.5, 0.9)} if share else {}
    return Found(told, {"use_vllm": False}, removes, {"engine": "on"})


def memory(case: Case) -> Found | None:
    """Requests wait because the KV cache is full, or are thrown out of it."""
    share, queued = _waiting(case, "memory", "preempted")
    thrown = case.engine.preemptions or 0.0
    now = case.number("gpu_memory_utilization")
    if (share < _ENOUGH and thrown <= 0) or (now is not None and now >= _MOST_MEMORY):
        return None
    most = share * queued
    likely = 0.5 * most if now is None else min(0.5 * most, share * (1 - now / _new_memory(now)))
    what = _queue_words(case) if queued else say("{count} preemptions", count=show_number(thrown))
    symptom = say(
        "The engine waits for memory {share} of its running time: {what}.", share=show_share(share), what=what
    )
    evidence = {"memory_bound_share": round(share, 3), "kv_cache_peak": case.engine.kv_peak or 0.0} | (
        {"running": case.engine.stuck_running or 0.0, "waiting": case.engine.stuck_waiting or 0.0} if queued else {}
    )
    if thrown:
        evidence["preemptions"] = thrown
    new = say("more (0.05 to 0.2 at a time)") if now is None else f"{_new_memory(now):.2g}"
    removes = {"rollout": between(0.0, likely, most)} if most > 0 else {}
    return Found(symptom, evidence, removes, {"gpu_memory_utilization": new})


def _new_memory(now: float) -> float:
    return min(0.95, round(now + 0.2, 2)) if now < 0.7 else min(0.95, round(now + 0.1, 2))


def graphs(case: Case) -> Found | None:
    """The engine runs in eager mode: every decode step launches its kernels one by one."""
    if case.says("enforce_eager") is not True:
        return None
    batch = min(max(case.engine.running or 64.0, 1.0), 64.0)
    speedup = _GRAPHS[0] - (_GRAPHS[0] - _GRAPHS[1]) * math.log2(batch) / 6
    most = 1 - 1 / speedup
    symptom = say("CUDA graphs are off (enforce_eager).")
    if case.engine.running:
        requests = show_number(case.engine.running)
        symptom = say("CUDA graphs are off (enforce_eager) with {requests} requests at a time.", requests=requests)
    removes = {"rollout": between(0.0, 0.6 * most, max(most, 0.15))}
    evidence = {"enforce_eager": True} | ({"running": case.engine.running} if case.engine.running else {})
    return Found(symptom, evidence, removes, {"enforce_eager": "off"})


def more_sequences(case: Case) -> Found | None:
    """Requests wait although the KV cache has room: the limit on sequences at once holds them back."""
    share, queued = _waiting(case, "concurrency")
    if share < _ENOUGH or (case.engine.preemptions or 0.0) > 0:
        return None
    most, now = share * queued, case.number("max_num_seqs")
    symptom = say(
        "Requests wait for a free place {share} of the engine's running time: {queue}.",
        share=show_share(share),
        queue=_queue_words(case),
    )
    evidence = {"concurrency_bound_share": round(share, 3), "waiting": case.engine.stuck_waiting or 0.0}
    new = str(round(2 * now)) if now else say("twice as many")
    change = {"max_num_seqs": new} | ({"generation_batch": say("larger")} if case.framework == "trl" else {})
    return Found(symptom, evidence, {"rollout": between(0.0, 0.5 * most, most)}, change)


def fewer_sequences(case: Case) -> Found | None:
    """Sequences are thrown out of the KV cache and computed again: fewer at once are faster."""
    thrown = case.engine.preemptions or 0.0
    if thrown <= 0:
        return None
    share, now = case.engine.share("preempted"), case.number("max_num_seqs")
    running = case.engine.stuck_running or case.engine.running_peak
    most = min(each for each in (now, running) if each) if now or running else None
    new = max(1, round(0.75 * most)) if most else 0
    symptom = say(
        "{count} preemptions: finished work of those sequences is thrown away and done again.",
        count=show_number(thrown),
    )
    removes = {"rollout": between(0.0, 0.15 * share, 0.5 * share)} if share > 0 else {}
    evidence = {"preemptions": thrown} | ({"running": running} if running else {})
    return Found(symptom, evidence, removes, {"max_num_seqs": str(new) if new else say("fewer")})


def shorter_context(case: Case) -> Found | None:
    """The engine accepts far longer sequences than the run can make."""
    longest, prompt, limit = case.number("max_model_len"), case.number("max_prompt_tokens"), case.analysis.growth.limit
    if longest is None or prompt is None or limit is None or longest < 2 * (prompt + limit):
        return None
    symptom = say(
        "The engine accepts {longest} tokens; prompt and answer together never exceed {needed}.",
        longest=show_number(longest),
        needed=show_number(prompt + limit),
    )
    return Found(
        symptom,
        {"max_model_len": longest, "longest_needed": prompt + limit},
        {},
        {"max_model_len": f"{prompt + limit:.0f}"},
    )


def prefix_cache(case: Case) -> Found | None:
    """Every answer of a group computes the same prompt again."""
    group, prompt, answer = case.number("group_size") or 0.0, case.late("prompt_len"), case.late("len_mean")
    off = present(case, "enable_prefix_caching") is False or case.says("vllm.enable_prefix_caching") is False
    if not prompt or not answer or group <= 1 or prompt / answer <= 0.3 or not (off or case.engine.prefix_hit == 0):
        return None
    most = prompt / (prompt + answer) * (group - 1) / group
    symptom = say(
        "The {group} answers of a group share a prompt of {prompt} tokens, and none is found in the prefix cache.",
        group=show_number(group),
        prompt=show_number(prompt),
    )
    evidence = {"prompt_len": round(prompt, 1), "len_mean": round(answer, 1), "group_size": group}
    return Found(symptom, evidence, {"rollout": between(0.0, 0.1 * most, most)}, {"enable_prefix_caching": "on"})


def chunked_prefill(case: Case) -> Found | None:
    """Long prompts are computed in one piece, and answers in the making wait for them."""
    prompt = case.late("prompt_len") or case.number("max_prompt_tokens")
    if not prompt or prompt <= 4000 or present(case, "enable_chunked_prefill") is not False:
        return None
    symptom = say(
        "Prompts of {prompt} tokens are computed in one piece: everything else waits meanwhile.",
        prompt=show_number(prompt),
    )
    return Found(symptom, {"prompt_len": round(prompt, 1)}, {}, {"enable_chunked_prefill": "on"})


def smaller_parallel(case: Case) -> Found | None:
    """The engine spans more GPUs than the model needs: more replicas make more tokens."""
    span, size = case.number("tensor_parallel_size"), case.billions
    if not span or span <= 1 or size is None or case.gpu_gib is None:
        return None
    weights, given = 2 * size * 1e9 / 2**30, case.number("gpu_memory_utilization") or 0.5
    if weights * 2 > case.gpu_gib * given * 1.0:
        return None
    symptom = say(
        "One engine spans {gpus} GPUs; the model's weights ({weights} GiB) fit on one twice over.",
        gpus=show_number(span),
        weights=show_number(weights),
    )
    evidence = {"tensor_parallel_size": span, "weights_gib": round(weights, 1), "gpu_gib": case.gpu_gib}
    return Found(symptom, evidence, {"rollout": Span(0.0, 0.1, 0.35)}, {"tensor_parallel_size": "1"})


def speculative(case: Case) -> Found | None:
    """Generation dominates and few sequences run: the GPU has room to guess ahead."""
    share, tail = case.share("rollout"), case.tail or 0.0
    few = case.engine.running is not None and case.engine.running <= 16
    if share <= 0.6 or not (few or tail > 4):
        return None
    symptom = say(
        "Sampling is {share} of a step and the longest answer is {times} times the mean one.",
        share=show_share(share),
        times=show_number(tail),
    )
    evidence = {"rollout_share": round(share, 3), "longest_over_mean": round(tail, 2)}
    return Found(
        symptom,
        evidence,
        {"rollout": Span(0.0, 0.2, 0.5)},
        {"spec_decode": say("a small draft or the model's own MTP head")},
    )


def quantised(case: Case) -> Found | None:
    """A large model generates most of the time and its KV cache is full."""
    share, size = case.share("rollout"), case.billions or 0.0
    bound = case.engine.share("memory") + case.engine.share("preempted")
    if share <= 0.6 or size < 7 or bound < 0.3:
        return None
    symptom = say(
        "Sampling is {share} of a step, {bound} of it waiting for memory, with a model of {size} billion.",
        share=show_share(share),
        bound=show_share(bound),
        size=show_number(size),
    )
    evidence = {"rollout_share": round(share, 3), "memory_bound_share": round(bound, 3), "billions": size}
    return Found(
        symptom,
        evidence,
        {"rollout": Span(0.0, 0.12, 0.4)},
        {"quantization": say("fp8, with truncated importance sampling")},
    )
