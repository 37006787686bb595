"""Loops whose counters begin anew in every epoch, named on lines of their own."""

from __future__ import annotations

import pytest

from tests.parsers.loops import column, read


def _epochs(head: str, first: int, count: int, *, tail: str = "", step: str = "[Update {n}/4]") -> str:
    lines = []
    for epoch in range(first, first + count):
        lines.append(f"2026-02-03 04:{epoch:02d}:00 - INFO - {head.format(e=epoch)}\n" if head else "")
        lines += [
            f"2026-02-03 04:{epoch:02d}:{10 + n} - INFO - {step.format(n=n)} loss=0.5{n}{epoch % 9} entropy=0.4{n} kl=0.01\n"
            for n in range(1, 5)
        ]
        lines.append(f"2026-02-03 04:{epoch:02d}:40 - INFO - {tail.format(e=epoch)}\n" if tail else "")
    return "".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        _epochs("##########  epoch: {e}  ##########", 0, 6),
        _epochs("=== Epoch {e}/6 ===", 1, 6),
        _epochs("Starting epoch {e} of 6, shuffling the data first", 1, 6),
        _epochs("", 1, 6, tail="Epoch {e} done, mean loss 0.52"),
        _epochs("Epoch {e}", 1, 6, tail="Epoch {e} average loss: 0.52"),
    ],
)
def test_epochs_that_go_on_with_inner_counters_are_one_session(text: str) -> None:
    run = read(text)
    assert column(run, "step") == list(range(1, 25))
    assert set(column(run, "segment")) == {0}


def test_the_planned_steps_are_those_of_all_epochs_where_the_log_says_how_many() -> None:
    assert read(_epochs("Epoch {e}/20", 1, 6)).info.number("total_steps") == 80
    assert (
        read('{\n  "lr": 0.0001,\n  "epochs": 20\n}\n' + _epochs("# epoch: {e} #", 0, 6)).info.number("total_steps")
        == 80
    )
    assert read(_epochs("# epoch: {e} #", 0, 6)).info.number("total_steps") is None


def test_a_count_that_goes_on_over_the_epochs_is_left_alone() -> None:
    lines = [
        (f"=== Epoch {n // 4 + 1}/5 ===\n" if n % 4 == 0 else "") + f"step {n + 1}/20 | loss 0.5{n} | reward 0.{n}\n"
        for n in range(12)
    ]
    run = read("".join(lines))
    assert column(run, "step") == list(range(1, 13))
    assert run.info.number("total_steps") == 20


def test_an_epoch_named_again_is_a_restart() -> None:
    run = read(_epochs("Epoch {e}/6", 1, 2) + _epochs("Epoch {e}/6", 1, 3).replace("0.5", "0.7"))
    assert column(run, "segment") == [0] * 8 + [1] * 12
    assert column(run, "step") == [*range(1, 9), *range(1, 13)]


def test_a_resume_from_an_epoch_goes_on_with_it() -> None:
    text = _epochs("Epoch {e}/6", 1, 4) + "resumed from the checkpoint of epoch 2\n"
    run = read(text + _epochs("Epoch {e}/6", 3, 2).replace("0.5", "0.7"))
    assert column(run, "step") == [*range(1, 17), *range(9, 17)]
    assert column(run, "segment") == [0] * 16 + [1] * 8
