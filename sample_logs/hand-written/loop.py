"""A GRPO loop by hand, small enough for a laptop: how `train.log` beside it was made.

The policy is a fixed random recurrent network with a learned output layer; it writes tokens one by one until it writes
END or reaches the limit. An answer is rewarded for length up to 300 tokens and counts as right when it is long enough
and its tokens are varied, so answers grow as it learns, and every step's time follows the longest answer.

    python loop.py > train.log
"""

from __future__ import annotations

import time

import numpy as np

PROMPTS, GROUP, VOCABULARY, HIDDEN, LIMIT, STEPS, END = 8, 8, 24, 768, 384, 160, 0
random = np.random.default_rng(7)
RECURRENT = random.normal(0, 0.9 / np.sqrt(HIDDEN), (HIDDEN, HIDDEN)).astype(np.float32)
EMBED = random.normal(0, 1, (VOCABULARY, HIDDEN)).astype(np.float32)
QUESTIONS = random.normal(0, 1, (PROMPTS, HIDDEN)).astype(np.float32)


def probabilities(state: np.ndarray, weights: np.ndarray) -> np.ndarray:
    logits = state @ weights
    logits -= logits.max(axis=1, keepdims=True)
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True)


def sample(weights: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """States, tokens and lengths of one group of answers to every question."""
    state = np.repeat(QUESTIONS, GROUP, axis=0)
    alive = np.ones(len(state), dtype=bool)
    lengths = np.zeros(len(state), dtype=int)
    states, tokens = [], []
    while alive.any() and len(states) < LIMIT:
        chances = probabilities(state, weights)
        token = (chances.cumsum(axis=1) > random.random((len(state), 1))).argmax(axis=1)
        states.append(state)
        tokens.append(np.where(alive, token, -1))
        lengths += alive
        alive &= token != END
        state = np.tanh(state @ RECURRENT + EMBED[token])
    return states, tokens, lengths


def main() -> None:
    weights = np.zeros((HIDDEN, VOCABULARY), dtype=np.float32)
    for step in range(1, STEPS + 1):
        start = time.perf_counter()
        states, tokens, lengths = sample(weights)
        answers = np.stack(tokens, axis=1)
        variety = np.array([len(set(answer[answer >= 0])) / VOCABULARY for answer in answers])
        reward = np.minimum(lengths / 300, 1) * variety
        right = (lengths >= 120) & (variety > 0.8)
        grouped = reward.reshape(PROMPTS, GROUP)
        spread = grouped.std(axis=1, keepdims=True)
        advantage = ((grouped - grouped.mean(axis=1, keepdims=True)) / (spread + 1e-4)).reshape(-1)
        gradient = np.zeros_like(weights)
        for state, token in zip(states, tokens, strict=True):
            live = token >= 0
            chances = probabilities(state[live], weights)
            chances[np.arange(live.sum()), token[live]] -= 1
            gradient -= state[live].T @ (chances * advantage[live, None])
        weights += 0.004 * gradient / len(lengths) / lengths.mean() ** 0.5
        took = time.perf_counter() - start
        print(
            f"step {step}/{STEPS} | len {lengths.mean():.1f} | max_len {lengths.max()} | reward {reward.mean():.4f} | "
            f"acc {right.mean():.3f} | adv_std {advantage.std():.3f} | time {took:.3f}s",
            flush=True,
        )


if __name__ == "__main__":
    main()
