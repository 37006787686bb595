"""Writes consoles as an HF trainer does: tqdm's bar on stderr, metric dicts on stdout, the two merged with or without a buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import parsers
from timeledger.run import Run

Values = dict[str, object]


def read(text: str, name: str = "console.log") -> Run:
    """The run of a console."""
    return parsers.read(text.encode(), name=name)


def steps(run: Run) -> list[int]:
    """Its rows' steps."""
    return run.steps["step"].to_list()


def texts(run: Run) -> list[str]:
    """Its notes."""
    return [note.text for note in run.notes]


def clock(seconds: float) -> str:
    """A duration as tqdm shows it."""
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes:02d}:{whole % 60:02d}"


def bar(step: int, total: int, elapsed: float, desc: str = "") -> str:
    """One state of a bar."""
    rate = elapsed / step if step else 0.0
    pace = f"{rate:.2f}s/it" if step else "?it/s"
    left = clock(rate * (total - step)) if step else "?"
    return f"\r{desc}{100 * step // total:3d}%|{'█' * (10 * step // total):<10}| {step}/{total} [{clock(elapsed)}<{left}, {pace}]"


def quoted(values: Values) -> str:
    """A dict as transformers 5 prints it: floats as strings of four significant digits."""
    return str({key: f"{value:.4g}" if isinstance(value, float) else value for key, value in values.items()})


def grpo(step: int, *, total: int = 100, length: float | None = None, seconds: float = 2.0) -> Values:
    """Metrics of one GRPO step; longest and shortest answer are whole numbers, as in a row that is one step."""
    mean = 40.5 + step if length is None else length
    return {
        "loss": 0.01 * step,
        "grad_norm": 0.5,
        "learning_rate": 1e-5 * (1 - step / total),
        "num_tokens": float(step * 500),
        "completions/mean_length": mean,
        "completions/min_length": float(10 + step % 7),
        "completions/max_length": float(60 + step),
        "completions/clipped_ratio": 0.0,
        "rewards/accuracy_reward/mean": 0.25,
        "reward": 0.3,
        "reward_std": 0.1,
        "frac_reward_zero_std": 0.5,
        "step_time": seconds,
        "epoch": step / 400,
    }


@dataclass
class Console:
    """One process's output. `buffer` is stdout's buffer in bytes (0: a line is written at once)."""

    total: int
    every: int = 1
    seconds: float = 2.0
    buffer: int = 0
    bars: bool = True
    show: Callable[[Values], str] = quoted
    first_step: bool = False
    row: Callable[[int], Values] = grpo
    text: str = ""
    _held: list[str] = field(default_factory=list)

    def start(self) -> Console:
        """The bar appears."""
        self._err(bar(0, self.total, 0))
        return self

    def train(self, steps: Iterable[int], origin: int = 0) -> Console:
        """Optimizer steps; elapsed time counts from `origin`."""
        for step in steps:
            elapsed = (step - origin) * self.seconds
            self._err(bar(step, self.total, elapsed))
            if step % self.every == 0 or (self.first_step and step == 1):
                self.log(self.row(step), step, elapsed)
        return self

    def log(self, values: Values, step: int, elapsed: float) -> None:
        """`tqdm.write`: wipe the bar, print, draw the bar again."""
        self._err("\r" + " " * 60 + "\r")
        self._out(self.show(values) + "\n")
        self._err(bar(step, self.total, elapsed))

    def evaluate(self, step: int, batches: int, runtime: float) -> Console:
        """An evaluation inside training, with its own bar below the training bar."""
        for batch in range(batches + 1):
            self._err("\n" + bar(batch, batches, batch * runtime / batches) + "\x1b[A")
        values: Values = {"eval_loss": 0.5, "eval_runtime": runtime, "eval_reward": 0.4, "epoch": step / 400}
        self.log(values, step, step * self.seconds)
        return self

    def end(self, steps: int) -> Console:
        """The end-of-run dict and the end of the process."""
        runtime = steps * self.seconds
        values: Values = {
            "train_runtime": runtime,
            "train_samples_per_second": 8.0,
            "train_steps_per_second": steps / runtime,
            "train_loss": 0.1,
            "epoch": steps / 400,
        }
        self.log(values, steps, runtime)
        return self.exit()

    def exit(self) -> Console:
        """What the buffer still holds comes at the end."""
        self.text += "".join(self._held)
        self._held.clear()
        return self

    def say(self, text: str) -> Console:
        """Anything else on stderr."""
        self.text += text
        return self

    def _err(self, text: str) -> None:
        if self.bars:
            self.text += text

    def _out(self, text: str) -> None:
        held = sum(len(part) for part in self._held)
        if self.buffer and held + len(text) <= self.buffer:
            self._held.append(text)
            return
        self.text += "".join(self._held)
        self._held = [text] if self.buffer else []
        if not self.buffer:
            self.text += text
