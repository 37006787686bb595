"""Hand-written loops: one run in many syntaxes, blocks, orphans, restarts, epochs; and text that is no run."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.base import Origin, Sure
from parsers.keyvalue import KEYVALUE
from parsers.windows import make_head
from tests.parsers.alike import same_in_pieces
from tests.parsers.loops import column, read, sure

# --- one run, many syntaxes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    step: int
    length: float
    reward: float
    kl: float
    seconds: float


SYNTAXES: dict[str, Callable[[Row], str]] = {
    "pipes": lambda r: f"step {r.step} | len {r.length:.1f} | reward {r.reward:.3f} | kl {r.kl:.4f} | time {r.seconds:.2f}s",
    "equals": lambda r: f"[grpo] step={r.step} avg_len={r.length:.1f} reward_mean={r.reward:+.3f} kl={r.kl:.4f} dt={r.seconds:.2f}",
    "commas": lambda r: f"Step {r.step:05d}, Reward: {r.reward:.3f}, Avg Len: {r.length:.1f}, KL: {r.kl:.4f}, duration: {r.seconds:.2f}s",
    "bracket": lambda r: f"[{r.step}/999999] rew={r.reward:.3f} resp_len={r.length:.1f} mean_kl={r.kl:.4f} step_time={r.seconds:.2f}",
    "dashes": lambda r: f"iter:{r.step} - response_length/mean:{r.length:.1f} - reward/mean:{r.reward:.3f} - kl:{r.kl:.4f} - step_time:{r.seconds:.2f}",
    "blanks": lambda r: f"   {r.step}  GRPO reward {r.reward:.3f}  len {r.length:.1f}  kl {r.kl:.4f}  time {r.seconds:.2f}s",
    "dict": lambda r: f"{{'step': {r.step}, 'reward': np.float64({r.reward:.3f}), 'mean_len': '{r.length:.1f}', 'kl': tensor({r.kl:.4f}, device='cuda:0'), 'step_time': {r.seconds:.2f}}}",
    "chinese": lambda r: f"第 {r.step} 步 | 平均奖励: {r.reward:.3f} | 平均长度: {r.length:.1f} | KL散度: {r.kl:.4f} | 耗时: {r.seconds:.2f}秒",
    "logger": lambda r: f"2026-01-02 03:04:05,678 - INFO - update {r.step}/999999 - reward: {r.reward:.3f} - AvgLen: {r.length:.1f} - KL: {r.kl:.4f} - time: {r.seconds:.2f}s",
    "block": lambda r: f"=== Iteration {r.step} ===\n  Reward: {r.reward:.3f}\n  Response length: {r.length:.1f}\n  KL divergence: {r.kl:.4f}\n  Step time: {r.seconds:.2f}s\n",
    "epochs": lambda r: f"Epoch:[1/1]({r.step}/999999), Reward: {r.reward:.3f}, KL_ref: {r.kl:.4f}, Avg Response Len: {r.length:.1f}, Time: {r.seconds:.2f}s",
    "milliseconds": lambda r: f"step {r.step} | reward: {r.reward:.3f} | len: {r.length:.1f} | kl: {r.kl:.4f} | dt: {r.seconds * 1000:.0f}ms",
}  # fmt: skip
PROSE = st.lists(
    st.sampled_from(
        ["the", "of", "step", "sum", "answer", "we", "know", "then", "3", "12", "pieces", "reward", "because", "length", "is", "time", "so", "=", "+", "(", ")", ",", ".", "7/8", "total", "first", "add", "x", "y"]
    ),
    min_size=6, max_size=30,
).map(" ".join)  # fmt: skip
ROWS = st.lists(
    st.tuples(
        st.integers(0, 9999).map(lambda n: n / 10), st.integers(-2000, 2000).map(lambda n: n / 1000),
        st.integers(0, 5000).map(lambda n: n / 10_000), st.integers(1, 99_999).map(lambda n: n / 100),
    ),
    min_size=2, max_size=8,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, first=st.integers(0, 500), gap=st.integers(1, 25), syntax=st.sampled_from(sorted(SYNTAXES)))
def test_every_syntax_reads_back_the_run(rows: list[tuple[float, ...]], first: int, gap: int, syntax: str) -> None:
    made = [Row(first + gap * place, *values) for place, values in enumerate(rows)]
    # a clock that happens to rise as a sum does is read as one, so the last value falls
    made[-1] = Row(
        made[-1].step, made[-1].length, made[-1].reward, made[-1].kl, min(made[-1].seconds, made[0].seconds / 2 + 0.01)
    )
    text = "".join(SYNTAXES[syntax](row) + "\n" for row in made)
    run = read(text)
    assert column(run, "step") == [row.step for row in made]
    for name, want in (("reward", "reward"), ("len_mean", "length"), ("kl", "kl"), ("step_s", "seconds")):
        assert column(run, name) == pytest.approx([round(getattr(row, want), 5) for row in made], abs=0.006), name
    assert sure(text) == Sure.LIKELY


@settings(max_examples=60, deadline=None)
@given(
    rows=ROWS,
    noise=st.lists(PROSE, min_size=1, max_size=5),
    syntax=st.sampled_from(["pipes", "equals", "commas", "dict"]),
)
def test_prose_between_rows_changes_nothing(rows: list[tuple[float, ...]], noise: list[str], syntax: str) -> None:
    made = [SYNTAXES[syntax](Row(place, *values)) + "\n" for place, values in enumerate(rows)]
    quiet = read("".join(made))
    loud = read("".join(line + noise[place % len(noise)] + "\n" for place, line in enumerate(made)))
    assert loud.steps.drop("line").equals(quiet.steps.drop("line"))


@settings(max_examples=200, deadline=None)
@given(st.lists(PROSE, max_size=20))
def test_prose_is_no_run(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    assert sure(text) == Sure.NO
    assert read(text).steps.is_empty()


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_survived(text: str) -> None:
    read(f"step {text} | reward 0.5\n{text}\n{{{text}}}\n")


@settings(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(0, 2000), max_size=6))
def test_any_split_gives_the_same_run(cuts: list[int]) -> None:
    lines = [
        f"step {n} | reward 0.{n} | time {n * 10 + n % 3}s\n  kl: 0.0{n}\nAverage Reward: 0.5\n" for n in range(1, 9)
    ]
    data = "".join(lines).encode()
    ends = sorted(data.find(b"\n", cut) + 1 for cut in cuts if data.find(b"\n", cut) >= 0)
    assert same_in_pieces(KEYVALUE, (data[start:end] for start, end in pairwise([0, *ends, len(data)])))


# --- lines -------------------------------------------------------------------------------------------------------


def test_phases_with_children_and_traps() -> None:
    run = read(
        "step=3 loss=0.01 reward_mean=0.25 dt=20.5s rollout=12.5s rollout_generate=11.0s rollout_sync=0.5s reward=0.2s "
        "advantages=0.1s update=7.0s len_mean=88.5\n"
    )
    assert column(run, "reward") == [0.25]
    assert column(run, "step_s") == [20.5]
    found = {row["name"]: row for row in run.phases.to_dicts()}
    assert found["reward"]["phase"] == "reward"
    assert found["rollout_generate"]["parent"] == "rollout"
    assert found["rollout_sync"]["phase"] == "weight_sync"
    assert found["rollout"]["parent"] is None
    top = sum(row["seconds"] for row in found.values() if row["parent"] is None)
    assert top == pytest.approx(12.5 + 0.2 + 0.1 + 7.0)


def test_things_that_are_not_the_step() -> None:
    run = read("Iteration 1/1, Step 7/90, GRPO iter 1/1, correct=3/4, informative_groups=1/4, loss: 0.25\n")
    assert column(run, "step") == [7]
    assert run.info.setting("total_steps") == 90
    assert column(run, "acc") == [0.75]
    assert column(run, "zero_std") == [0.75]
    update = read("Epoch 1, Batch 8/64, Update 2/16, Loss: 0.5, Reward: 0.1\n")
    assert (column(update, "step"), update.info.setting("total_steps")) == ([2], 16)
    assert column(read("[GRPO] Step 020 | mean reward: +0.5 | 20-step avg: +0.1\n"), "reward") == [0.5]


def test_words_and_lists() -> None:
    run = read("[run] step=4 rewards=['1.0', '0.0'] adv=[-1.0, 1.0] len=88w vram=2048MB shape=(8, 371)\n")
    assert column(run, "reward") == [0.5]
    assert column(run, "adv_mean") == [None], "a bracketed pair is a range"
    assert column(run, "len_mean") == [None]
    assert column(run, "mem_gib") == [2.0]
    assert run.extra["len (w)"].to_list() == [88.0]


def test_progress_bar_with_metrics() -> None:
    run = read("train[a|b]:  18%|█▊        | 9/50 [00:27<02:03,  3.00s/it, reward=0.375, ans=40.00%]\n")
    assert column(run, "step") == [9]
    assert (column(run, "reward"), column(run, "acc")) == ([0.375], [0.4])
    assert column(run, "elapsed_s") == [27.0]
    assert run.progress.row(0)[1:5] == (9, 50, 27.0, 123.0)


def test_progress_of_a_notebook() -> None:
    run = read("[  30/100 0:05:00 < 0:11:40, 0.10 it/s, Epoch 0.3/1]\n")
    assert run.steps.is_empty()
    assert run.progress.row(0)[1:5] == (30, 100, 300.0, 700.0)


def test_bars_of_others_are_nothing() -> None:
    for line in (
        "Capturing CUDA graphs: 100%|██████████| 9/9 [00:01<00:00, 9.0it/s]",
        "Map: 100%|██████████| 900/900 [00:01<00:00, 900.0 examples/s]",
        "Generating rollouts: 100%|██████████| 9/9 [00:01<00:00, 9.0it/s]",
        "Loading checkpoint shards: 100%|██████████| 2/2 [00:01<00:00, 1.0it/s]",
    ):
        assert sure(line + "\n") == Sure.NO
        assert read(line + "\n").progress.is_empty()


@pytest.mark.parametrize(
    "line",
    [
        "2. From step 1 she has 8 pieces, so the ratio = 8/2 = 4.",
        "**Step 2:** the total time = 15 minutes",
        "Step 3: time = 15 minutes",
        "Step 3: length = 12, ratio = 0.5",
        "reward is 0.09",
        "[DEBUG] step=50, sample[0]",
        "[Sample 2] Reward: 1.000",
        "K=1, Reward=1.000, Completion: 5 + 5 = 10",
        "wandb: WARNING (User provided step: 5 is less than current step: 6. Dropping entry: {'loss': 0.2, 'reward': 1.0})",
        "Training Summary (5 steps):",
        "  Cumul. rollout: 31.32s ( 16.0%)",
        "num_prompt_in_batch=3 < prompt_bsz=5",
        "Accuracy: 23.33% (7/30)",
        "Final | step 100 | reward 0.5 | kl 0.1",
        "    loss = 0.5 * reward + step 3",
        "tool --steps 200 --reward 0.5 --len-mean 400",
        "Login expires in 12 hours",
    ],
)
def test_never_a_row(line: str) -> None:
    assert read(line + "\n").steps.is_empty()
    assert sure(line + "\n") == Sure.NO


@pytest.mark.parametrize(
    ("line", "step", "took"),
    [
        ("step 4: val loss 0.3, val acc 0.5", 4, None),
        ("Iter 200: Val loss 0.41, Val reward_mean 0.62, Val kl 0.003, Val took 3.2s", 200, 3.2),
        ("validation step=40 reward_mean=0.310 reward_max=1.000 completion='so it is 7'", 40, None),
    ],
)
def test_a_short_log_of_validations_alone_has_events_and_no_rows(line: str, step: int, took: float | None) -> None:
    run = read("loading the weights\n" + line + "\n")
    assert sure(line + "\n") == Sure.MAYBE
    assert run.steps.is_empty()
    assert run.phases.is_empty()
    assert run.events.select("kind", "step", "seconds").rows() == [("evaluation", step, took)]


@pytest.mark.parametrize(
    "line",
    [
        "test 4: ok",
        "test step 3: 12 of 15 files",
        "eval step 3/20 reward_mean=0.310",
        "validation step=5 loading 3 shards",
        "val step 3 loss 0.31",
    ],
)
def test_numbered_tests_and_batches_of_a_validation_are_no_evaluation(line: str) -> None:
    assert read(line + "\n").events.is_empty()
    assert sure(line + "\n") == Sure.NO


# --- other files ---


def test_sources_and_documents_are_no_runs() -> None:
    names = ("stdlib", "purelib")
    files: list[Path] = []
    for folder in (Path(sysconfig.get_paths()[name]) for name in names):
        found = sorted(
            path for pattern in ("*.py", "*/*.py", "*/*.txt", "*/*.md", "*/METADATA") for path in folder.glob(pattern)
        )
        files += found[:: max(1, len(found) // 60)]
    assert len(files) > 60
    taken = []
    for path in files:
        data = path.read_bytes()
        if KEYVALUE.recognises(make_head(Origin(path.name), data, len(data) < 65536)).sure:
            taken.append(path.name)
    assert taken == []
