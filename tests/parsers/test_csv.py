"""Tables: what their headers announce, times by how they behave, exports of charts, our own export."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import detect, read, read_all
from parsers.base import Origin
from parsers.csv import CsvReader
from parsers.csv_shapes import header_of, shape_of, tag_of_file
from timeledger.cli import main
from timeledger.errors import UnknownFormat


def test_names_of_a_hand_written_table() -> None:
    table = (
        "step,total_steps,loss,kl_loss,policy_ratio,reward_avg,avg_response_len,adv_std,entropy_avg,eval_acc\n"
        "1,300,-0.75,-0.1,0.25,0.125,38.5,0.9,1.25,\n2,300,-0.5,-0.05,0.5,0.25,40.5,0.8,1.5,15.5\n"
    )
    run = read(table.encode(), name="metrics.csv")
    assert (run.info.format, run.info.setting("total_steps")) == ("csv", 300)
    first = run.steps.row(0, named=True)
    assert (first["loss"], first["kl"], first["ratio"], first["reward"]) == (-0.75, -0.1, 0.25, 0.125)
    assert (first["len_mean"], first["adv_std"], first["entropy"]) == (38.5, 0.9, 1.25)
    assert run.steps["acc"].null_count() == 2  # an evaluation's accuracy is not the step's
    assert run.steps["line"].to_list() == [2, 3]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_quotes_and_line_ends(delimiter: str) -> None:
    rows = [["step", "reward", "note"], ["1", "0.5", f'"a{delimiter}b"'], ["2", "0.75", ""]]
    for end in ("\n", "\r\n"):
        table = end.join(delimiter.join(row) for row in rows) + end
        run = read(b"\xef\xbb\xbf" + table.encode(), name="t.csv")
        assert run.steps.select("step", "reward").rows() == [(1, 0.5), (2, 0.75)]


def test_time_by_how_it_behaves() -> None:
    rising = read(b"step,reward,time\n1,0.5,10\n2,0.5,20.5\n3,0.6,31\n4,0.2,43\n5,0.2,55\n", name="t.csv")
    assert rising.steps["elapsed_s"].to_list() == [10, 20.5, 31, 43, 55]
    assert any(note.kind == "guessed" and "since the start" in note.text for note in rising.notes)
    steady = read(b"step,reward,time\n1,0.5,10\n2,0.5,10.5\n3,0.6,9\n4,0.2,11\n5,0.2,10\n", name="t.csv")
    assert steady.steps["step_s"].to_list() == [10, 10.5, 9, 11, 10]
    assert steady.steps["elapsed_s"].null_count() == 5


def test_units_in_cells_and_stamps() -> None:
    table = (
        "iteration,reward,step time,timestamp\n1,0.5,33.5s,2026-03-01T10:00:00+00:00\n2,0.5,812ms,2026-03-01T10:00:40+00:00\n"
        "3,0.5,1m 12s,2026-03-01T10:02:00+00:00\n"
    )
    run = read(table.encode(), name="t.csv")
    assert run.steps["step_s"].to_list() == pytest.approx([33.5, 0.812, 72.0])
    assert run.steps["at"][1] == datetime(2026, 3, 1, 10, 0, 40, tzinfo=UTC)
    assert run.info.zone_known


def test_rows_without_a_step_column_are_counted() -> None:
    run = read(b"reward,mean_length,loss\n0.5,100,1\n0.6,110,2\n", name="t.csv")
    assert run.steps.select("step", "len_mean").rows() == [(1, 100), (2, 110)]
    assert any(note.kind == "guessed" for note in run.notes)


def test_restart_is_a_segment() -> None:
    run = read(b"step,reward\n1,0.1\n2,0.2\n3,0.3\n2,0.25\n3,0.35\n", name="t.csv")
    assert run.steps.select("segment", "step").rows() == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]


def test_bad_rows_are_noted_with_their_line() -> None:
    run = read(b"step,reward,loss\n1,0.5,1\n2,0.5\nx,0.5,3\n4,0.5,4,5,6\n5,,5\n# end,,\n", name="t.csv")
    assert run.steps["step"].to_list() == [1, 5]
    assert run.steps["reward"].to_list() == [0.5, None]
    widths = next(note for note in run.notes if "number of cells" in note.text)
    assert (widths.line, widths.count) == (3, 2)


def test_last_row_still_being_written() -> None:
    table = b"step,reward,loss\n1,0.5,1.25\n2,0.5,1.5\n3,0.5"
    assert read(table, name="t.csv").steps["step"].to_list() == [1, 2]


def test_chart_of_tensorboard() -> None:
    table = b"Wall time,Step,Value\n1800000000.5,1,35.25\n1800000010.5,2,36.5\n"
    named = read(table, name="run-x-tag-train_completions_mean_length.csv")
    assert named.steps.select("step", "len_mean").rows() == [(1, 35.25), (2, 36.5)]
    assert named.steps["at"][0] == datetime.fromtimestamp(1_800_000_000.5, UTC)
    other = read(table, name="run-x-tag-my_own_thing.csv")
    assert other.steps["step"].to_list() == [1, 2]
    assert other.steps["at"].null_count() == 0
    assert other.extra["my_own_thing"].to_list() == [35.25, 36.5]


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("run-a-tag-timing_s_update_actor.csv", "timing_s/update_actor"),
        ("run-a-tag-train_reward.csv", "train/reward"),
        ("timing_train_total_step_time.csv", "timing/train/total_step_time"),
        ("unheard_of.csv", "unheard_of"),
    ],
)
def test_tag_of_a_file(name: str, tag: str) -> None:
    assert tag_of_file(name) == tag


def test_chart_of_wandb() -> None:
    table = (
        '"Step","run a - train/reward","run a - train/reward__MIN","run a - train/reward__MAX","run - b - train/reward"\n'
        '"1","0.5","0.4","0.6",""\n"2","0.75","0.5","0.9","0.125"\n'
    )
    runs = read_all(table.encode(), name="wandb_export.csv")
    assert [run.info.name for run in runs] == ["run a", "run - b"]
    assert runs[0].steps.select("step", "reward").rows() == [(1, 0.5), (2, 0.75)]
    assert runs[1].steps.select("step", "reward").rows() == [(2, 0.125)]
    over_time = read(table.replace("Step", "Relative Time (Process)", 1).encode(), name="w.csv")
    assert any("choose Step" in note.text for note in over_time.notes)


def test_history_of_a_tracker() -> None:
    table = (
        ",_step,_runtime,_timestamp,train/global_step,train/loss,train/completions/mean_length,train/step_time\n"
        "0,0,1.5,1800000000.5,,0.1,,\n1,6,1.5,1800000001.5,1,0.5,35.0,0.75\n2,13,2.5,1800000003.5,2,0.25,36.0,0.5\n"
    )
    run = read(table.encode(), name="history.csv")
    assert run.info.framework == "TRL"
    assert run.steps.filter(run.steps["len_mean"].is_not_null()).select("step", "step_s").rows() == [
        (1, 0.75),
        (2, 0.5),
    ]
    assert run.steps["at"][-1] == datetime.fromtimestamp(1_800_000_003.5, UTC)


def test_long_table() -> None:
    rows = ["step,tag,value,wall_time"]
    for tag, value in (("timing_s/gen", 3.0), ("timing_s/step", 5.5), ("response_length/mean", 100.0)):
        rows += [f"{step},{tag},{value + step},{1_800_000_000 + 10 * step}" for step in (1, 2)]
    run = read("\n".join(rows).encode() + b"\n", name="scalars.csv")
    assert run.info.framework == "verl"
    assert run.steps.select("step", "step_s", "len_mean").rows() == [(1, 6.5, 101.0), (2, 7.5, 102.0)]
    assert run.phases.select("step", "name", "seconds").rows() == [(1, "gen", 4.0), (2, "gen", 5.0)]


def test_our_own_export_comes_back(tmp_path: Path) -> None:
    log = tmp_path / "loop.log"
    lines = [
        f"step {step}/40 | len {100 + step} | reward 0.{step} | my_score 3.5 | time {10 + step}.5s"
        for step in range(1, 10)
    ]
    log.write_text("\n".join(lines) + "\n")
    table = tmp_path / "table.csv"
    assert main(["export", str(log), "--to", str(table)]) == 0
    ours, back = read(log), read(table)
    for column in ("segment", "step", "line", "step_s", "len_mean", "reward"):
        assert back.steps[column].to_list() == ours.steps[column].to_list(), column
    assert back.extra["my_score"].to_list() == ours.extra["my_score"].to_list()


@pytest.mark.parametrize(
    "text",
    [
        "name,city,age\nbob,rome,3\nann,oslo,4\n",
        "1,2,3\n4,5,6\n",
        "step\n1\n2\n",
        "date,price\n2026-01-01,3\n",
        "a,b\n",
        "Name,State,train/completions/mean_length,train/loss,train/reward\nrun-1,finished,100,0.5,0.7\n",
        "",
    ],
)
def test_other_tables_are_left_alone(text: str) -> None:
    found, _ = detect(text.encode(), name="t.csv")
    assert found is None or found.name != "csv"


def test_prose_with_commas_is_no_header() -> None:
    for line in ("Hello, world, step by step", "{'loss': 0.1, 'reward': 0.5}", "step 1, reward 0.5, loss 3"):
        header = header_of(line)
        found, _ = detect(f"{line}\n{line}\n".encode(), name="log.txt")
        assert found is None or found.name != "csv", (line, header and shape_of(header))


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet='step,reward0123456789.\n"\r;\t|-\x00é', max_size=300))
def test_noise_never_raises(text: str) -> None:
    reader = CsvReader(Origin("t.csv"))
    reader.feed(("step,reward\n" + text).encode())
    assert len(reader.runs()) == 1


def test_decimal_commas_between_semicolons() -> None:
    run = read(b"step;reward;mean_len;step_time\n1;0,25;150;20,5\n2;-0,5;1500;21\n", name="metrics.csv")
    assert run.steps.select("step", "reward", "len_mean", "step_s").rows() == [
        (1, 0.25, 150, 20.5),
        (2, -0.5, 1500, 21),
    ]
    thousands = read(b"step;reward;tokens\n1;1;12,345\n2;2;23,456\n", name="metrics.csv")
    assert thousands.steps["reward"].to_list() == [1, 2]


def test_a_loop_that_calls_its_rounds_epochs() -> None:
    table = "epoch,avg_reward,success_rate,timestamp\n1,0.25,0.5,2026-03-02T10:00:00\n2,0.5,0.75,2026-03-02T10:11:40\n"
    run = read(table.encode(), name="training_log.csv")
    assert run.steps.select("step", "reward", "acc").rows() == [(1, 0.25, 0.5), (2, 0.5, 0.75)]
    assert run.steps["at"][1] == datetime(2026, 3, 2, 10, 11, 40, tzinfo=UTC)
    with pytest.raises(UnknownFormat):
        read(b"epoch,loss,accuracy\n1,0.5,0.75\n2,0.25,0.875\n", name="history.csv")
