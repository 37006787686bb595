"""Advice and checks on real logs: what must fire, what must not, and that nothing promised exceeds what is there."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import parsers
from tests.conftest import corpus_folder
from timeledger.advice import RULES, advise, combine
from timeledger.analysis import analyse
from timeledger.results import Analysis
from timeledger.smoke import check

pytestmark = pytest.mark.corpus

OF_THE_STUDY = {"expected.csv", "source.json", "expected.json"}


def sources(folder: Path) -> list[Path]:
    """A run's own files, without what the corpus says of them."""
    if folder.is_file():
        return [folder]
    own = [path for path in folder.iterdir() if path.name not in OF_THE_STUDY]
    return own if len(own) < len(list(folder.iterdir())) else [folder]


@cache
def analysis(path: str) -> Analysis:
    corpus = corpus_folder()
    assert corpus is not None
    return analyse(parsers.read_paths(sources(corpus / path))[-1])


def every() -> list[str]:
    corpus = corpus_folder()
    if corpus is None:
        return []
    parts = [
        path for part in ("made/trl", "fetched/console", "fetched/hf") for path in sorted((corpus / part).iterdir())
    ]
    parts += sorted((corpus / "made/vllm").glob("*.console.log"))
    return [str(path.relative_to(corpus)) for path in parts if path.name != "README.md"]


@pytest.mark.parametrize("path", every())
def test_no_log_breaks_it_and_nothing_exceeds_what_is_there(corpus: Path, path: str) -> None:
    found = analysis(path)
    advised = advise(found)
    tiers = [each.tier for each in advised.advice]
    assert tiers == sorted(tiers)
    assert {each.rule for each in advised.advice}.isdisjoint(each.rule for each in advised.not_judged)
    for each in advised.advice:
        assert each.symptom.endswith(".")
        if each.saves_s is not None:
            assert 0 <= each.saves_s.low <= each.saves_s.mid <= each.saves_s.high
            assert each.share is not None
            assert each.ceiling is not None
            assert each.share <= each.ceiling <= 1 + 1e-9
    assert combine(found, advised.advice).share.high <= 1 + 1e-9
    checks = check(found).checks
    assert all(each.status == "unknown" or each.why for each in checks)


#: Log -> rules that must fire and rules that must not, with what the log shows.
EXPECTED = {
    # 0.5B model on one GPU with enforce_eager: True; nothing waits for weights; evaluation is 9 %
    "fetched/console/verl-notebook-getting-started": ({"R2", "R0c"}, {"R19", "R21", "R17", "R1"}),
    # one minibatch a generation with a pass of 10 %; sync 25 %; the reference is used (use_kl_loss)
    "fetched/console/verl-game2048": ({"R17", "R3", "R21", "R31"}, {"R2", "R8", "R19", "R33"}),
    # four minibatches a generation: the old log-probs are needed
    "fetched/console/verl-trtllm-demo6": ({"R6", "R31", "R25"}, {"R17", "R2", "R3", "R37"}),
    # validation in every step, half of the time
    "fetched/console/verl-jsonl-titan-30ba3b": ({"R19", "R21"}, {"R33", "R37", "R40"}),
    # every answer of 256 tokens is cut
    "fetched/console/verl-jsonl-qwen06b": ({"R37", "R8", "R21", "R33"}, {"R39", "R19"}),
    # the reward is waited for among the advantages: 56 % of a step
    "fetched/console/verl-tb-base-7b": ({"R18"}, {"R3", "R33", "R37"}),
    # dynamic sampling with two batches a step
    "fetched/console/verl-tb-mydapo-7b": ({"R30", "R39", "R33"}, {"R18", "R37", "R21"}),
    # asynchronous: generation hardly shows, weight sync is 73 %
    "fetched/console/areal-a100-fast-25": ({"R3", "R21"}, {"R33", "R18", "R1"}),
    # 40 KV blocks: full cache, 38 waiting
    "made/vllm/server-graph-smallkv.console.log": ({"R1"}, {"R9", "R2", "R9b"}),
    # 32 places for 64 requests, an empty cache, eager mode
    "made/vllm/offline-eager.console.log": ({"R9", "R2"}, {"R1", "R9b"}),
    # two requests at a time, nothing waits
    "made/vllm/server-eager.console.log": ({"R2"}, {"R1", "R9", "R9b"}),
    "fetched/console/vllm-server-memsuit": (set(), {"R1", "R2", "R9", "R9b"}),
    # plain generate(), evaluation a third of the time; no engine, so nothing about engines
    "made/trl/grpo-eval-save-mlflow": ({"R4", "R19"}, {"R1", "R2", "R0c", "R17"}),
    # the pass is the reference's (beta > 0), not a redundant one
    "made/trl/grpo-g4-l256-log5-ga4-wandb": ({"R4", "R37"}, {"R17", "R40"}),
    # answers grow to the limit: nothing may shorten it
    "made/trl/grpo-longer": ({"R37"}, {"R39", "R40"}),
    "made/trl/sft-warmup": (set(), {"R4", "R37", "R40", "R0a"}),
}  # fmt: skip


@pytest.mark.parametrize("path", EXPECTED)
def test_what_each_log_calls_for(corpus: Path, path: str) -> None:
    fires, silent = EXPECTED[path]
    found = {each.rule for each in advise(analysis(path)).advice}
    assert fires <= found, fires - found
    assert not silent & found, silent & found


def test_present_values_come_from_the_log(corpus: Path) -> None:
    settings = {each.rule: each.settings for each in advise(analysis("fetched/console/verl-trtllm-demo6")).advice}
    assert settings["R39"]["data.max_response_length"].startswith("1024 -> ")
    assert settings["R25"] == {"actor_rollout_ref.actor.strategy": "fsdp -> fsdp2"}
    eager = advise(analysis("fetched/console/verl-notebook-getting-started")).find("R2")
    assert eager is not None
    assert eager.settings == {"actor_rollout_ref.rollout.enforce_eager": "True -> False"}


def test_a_console_without_phases_says_how_to_log_them(corpus: Path) -> None:
    advised = advise(analysis("made/trl/grpo-none-notqdm"))
    assert advised.advice[0].rule == "R0a"
    assert {rule.id for rule in RULES if "phase:rollout" in rule.needs} <= {each.rule for each in advised.not_judged}
    assert not [each for each in advised.advice if each.tier in {1, 2} and each.saves_s is not None]


# --- checks ----------------------------------------------------------------------------------------------------

#: Run -> the verdict, checks that must fail, and words that must be in their reasons.
VERDICTS = {
    "grpo-zero-reward": ("fail", {"reward_variance", "signal", "gradient"}, "Every reward is 0"),
    "grpo-huge-lr": ("fail", {"stuck", "truncation", "signal"}, "diverged"),
    "grpo-inf-reward": ("fail", {"finite"}, "reward is infinite from step 13 on"),  # the corpus README counts from 0
    "grpo-allnone": ("fail", {"reward"}, "returned None or NaN"),
    "grpo-shorter": ("fail", {"length", "signal"}, "collapsed"),
    "grpo-crash": ("fail", {"cycle"}, "HTTP 503"),
    "grpo-longer": ("fail", {"truncation"}, "never end"),
    "grpo-g8-l64-log1-tb": ("pass", set(), ""),
    "grpo-growth-slow": ("pass", set(), ""),
    "rloo": ("pass", set(), ""),
    "sft-warmup": ("pass", set(), ""),
}


@pytest.mark.parametrize("name", VERDICTS)
@pytest.mark.parametrize("part", ["", "console.log"])
def test_made_runs_are_judged_for_the_right_reason(corpus: Path, name: str, part: str) -> None:
    verdict, fails, words = VERDICTS[name]
    found = check(analysis("/".join(filter(None, ("made/trl", name, part)))))
    assert found.verdict == verdict, found.sentence
    failed = {each.name: each for each in found.checks if each.status == "fail"}
    assert fails <= set(failed), found
    assert words in " ".join(each.why for each in failed.values())


def test_an_engine_log_cannot_be_judged(corpus: Path) -> None:
    assert check(analysis("made/vllm/server-eager.console.log")).verdict == "unknown"


def test_a_crash_out_of_memory_is_named(corpus: Path) -> None:
    found = check(
        analysis("fetched/hf/Sunshine535-nips-grpo-dynamics__results-wave6-G3-sweep-logs-w6-G3-rho0.70-seed42.log")
    )
    assert found.verdict == "fail"
    assert "out of memory" in found.find("cycle").why
