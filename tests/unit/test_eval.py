"""`cooper eval`: the figures with hand-computed values, and a whole evaluation on a real HTTP server."""

import json
import re
from contextlib import nullcontext
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from cooper_rl.errors import BackendError, BadInputError, MissingFileError
from cooper_rl.evaluation.benchmarks import evaluate_model, powers_of_two, table, verifier_of
from cooper_rl.evaluation.metrics import interval, majority, paired_test, pass_at_k
from cooper_rl.generation import Generation, Sampling, conversation, in_process, load_generator
from cooper_rl.generation.in_process import TransformersGenerator, batches_by_length, sample
from cooper_rl.settings.asking import EvalConfig
from cooper_rl.settings.files import resolve_model
from http_server import said


def test_pass_at_k_by_hand():
    right = np.array([[True, False, False, False], [False] * 4, [True] * 4])
    assert pass_at_k(right, 1).tolist() == [0.25, 0, 1]
    assert pass_at_k(right, 2).tolist() == pytest.approx([0.5, 0, 1])  # 1 - C(3,2)/C(4,2) = 1 - 3/6
    assert pass_at_k(right, 4).tolist() == [1, 0, 1]
    naive = 1 - (1 - right.mean(axis=1)) ** 2
    assert naive[0] != pytest.approx(pass_at_k(right, 2)[0])  # the biased estimate is another number
    with pytest.raises(ValueError, match="pass@5 needs 5"):
        pass_at_k(right, 5)


def test_majority_by_hand():
    assert majority(["7", "7", "8", None], [True, True, False, False]) == 1.0
    assert majority(["8", "8", "7", None], [False, False, True, False]) == 0.0
    assert majority(["7", "8"], [True, False]) == 0.5  # a fair draw
    assert majority([None, None], [False, False]) == 0.0


def test_interval_covers_the_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(200):
        low, high = interval((rng.random(60) < 0.3).astype(float), samples=300, seed=seed)
        hits += low <= 0.3 <= high
    assert 180 <= hits <= 200


def test_a_paired_test_sees_what_an_unpaired_one_would_not():
    rng = np.random.default_rng(1)
    theirs = rng.random(100)
    better = theirs + 0.02
    found = paired_test(better, theirs, samples=500, seed=0)
    assert found["difference"] == pytest.approx(0.02) and found["p_value"] < 0.01 and found["low"] > 0
    same = paired_test(theirs, rng.permutation(theirs), samples=500, seed=0)
    assert same["p_value"] > 0.05 and same["low"] < 0 < same["high"]
    with pytest.raises(ValueError, match="paired metrics"):
        paired_test(theirs, theirs[:-1], samples=10, seed=0)


def test_powers_of_two():
    assert powers_of_two(8) == [1, 2, 4, 8] and powers_of_two(6) == [1, 2, 4] and powers_of_two(1) == [1]


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "sums.jsonl"
    rows = [{"question": f"What is {i} + 1?", "answer": str(i + 1)} for i in range(20)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def adder(right_share):
    """Right on the first problems; each sample of a problem alike, except that every fourth says nothing."""

    def behave(body, count):
        number = int(re.search(r"is (\d+) \+", body["messages"][-1]["content"])[1])
        if body["temperature"] and body["seed"] % 4 == 0:
            return 200, said("I do not know.")
        return 200, said(f"So it is \\boxed{{{number + 1 if number < right_share * 20 else number + 7}}}")

    return behave


def settings(problems, server, folder, **more):
    given = {"benchmarks": [str(problems)], "num_samples": 4, "retries": 0, "bootstrap_samples": 200, **more}
    return EvalConfig(model=f"m@{server.url}", output=str(folder), **given)


def test_a_model_on_a_file_of_problems(serve, problems, tmp_path):
    server = serve(adder(0.5))
    config = settings(problems, server, tmp_path / "a", greedy=True)
    found = evaluate_model(config)
    row = found["benchmarks"][str(problems)]
    assert row["problems"] == 20 and row["samples"] == 4
    (scored,) = (tmp_path / "a" / "samples").glob("*.scored.jsonl")
    samples = [json.loads(line) for line in scored.open()]
    assert len(samples) == 80 and {s["verdict"] for s in samples} == {"CORRECT", "INCORRECT", "UNPARSEABLE"}
    assert row["greedy"]["mean"] == 0.5 and row["pass@4"]["mean"] == pytest.approx(0.5, abs=0.05)
    assert row["avg"]["mean"] < row["pass@2"]["mean"] <= row["pass@4"]["mean"]
    assert row["majority@4"]["mean"] == pytest.approx(0.5, abs=0.05)
    assert row["avg"]["low"] < row["avg"]["mean"] < row["avg"]["high"]
    assert 0 < row["unparseable"] < 1 and row["cut_off"] == 0
    asked = len(server.requests)
    assert asked == 20 * 4 + 20
    system = server.requests[0][1]["messages"][0]
    assert system["role"] == "system" and "\\boxed{}" in system["content"]
    with pytest.raises(BadInputError, match="continue it with --resume"):
        evaluate_model(config)
    assert evaluate_model(config, resume=True) == found and len(server.requests) == asked
    assert json.loads((tmp_path / "a" / "results.json").read_text()) == found


@pytest.mark.slow
def test_a_smaller_evaluation_of_a_larger_folder_takes_its_own_samples(serve, problems, tmp_path):
    server = serve(adder(0.5))
    evaluate_model(settings(problems, server, tmp_path / "a"))
    small = settings(problems, server, tmp_path / "a", size=5, num_samples=2)
    row = evaluate_model(small, resume=True)["benchmarks"][str(problems)]
    alone = evaluate_model(settings(problems, server, tmp_path / "b", size=5, num_samples=2))
    assert (row["problems"], row["samples"]) == (5, 2) and row == alone["benchmarks"][str(problems)]


def test_what_was_not_answered_is_no_figure(serve, problems, tmp_path):
    def behave(body, count):
        return (500, {}) if "What is 3 +" in body["messages"][-1]["content"] else adder(1.0)(body, count)

    with pytest.raises(BackendError, match=r"4 completions are missing.*--resume"):
        evaluate_model(settings(problems, serve(behave), tmp_path / "a"))
    server = serve(adder(1.0))
    assert evaluate_model(settings(problems, server, tmp_path / "a"), resume=True) and len(server.requests) == 4


def test_two_models_are_compared_problem_by_problem(serve, problems, tmp_path):
    evaluate_model(settings(problems, serve(adder(0.2)), tmp_path / "weak"))
    strong = settings(problems, serve(adder(0.9)), tmp_path / "strong", against=str(tmp_path / "weak"))
    found = evaluate_model(strong)
    test = found["benchmarks"][str(problems)]["against"]
    assert test["difference"] > 0.3 and test["low"] > 0 and test["p_value"] < 0.05
    header, cells = table(found)
    assert header[:3] == ["benchmark", "problems", "avg@4"] and cells[-1].startswith("+")
    fewer = settings(problems, serve(adder(0.9)), tmp_path / "fewer", size=10, against=str(tmp_path / "weak"))
    with pytest.raises(BadInputError, match="evaluated on other problems"):
        evaluate_model(fewer)
    with pytest.raises(MissingFileError, match="not the output of an evaluation"):
        evaluate_model(settings(problems, serve(adder(1)), tmp_path / "x", against=str(tmp_path / "nowhere")))


def test_a_model_in_process_is_loaded_once(tmp_path, monkeypatch):
    """For all benchmarks and the greedy completions; not at all where everything was sampled before."""
    loaded, from_pretrained = [], TransformersGenerator.from_pretrained
    monkeypatch.setattr(
        TransformersGenerator, "from_pretrained", lambda name, size: loaded.append(name) or from_pretrained(name, size)
    )
    config = EvalConfig(
        model="nano",
        benchmarks=["reasoning_gym:chain_sum", "reasoning_gym:basic_arithmetic"],
        output=str(tmp_path / "eval"),
        size=3,
        num_samples=2,
        max_new_tokens=8,
        greedy=True,
        verifier_workers=1,
    )
    found = evaluate_model(config)
    assert [row["samples"] for row in found["benchmarks"].values()] == [2, 2] and len(loaded) == 1
    assert evaluate_model(config, resume=True) == found and len(loaded) == 1


@pytest.mark.parametrize("bf16", [False, True])
def test_a_model_in_process_computes_in_bfloat16_where_asked(bf16):
    generator = TransformersGenerator.from_pretrained(resolve_model("nano", "policy"))
    generator.bf16 = bf16
    seen = set()
    generator.model.register_forward_hook(lambda *_: seen.add(torch.is_autocast_enabled("cpu")))
    assert generator.generate_or_none([conversation("What is 3 + 4?")], Sampling(8)) != [None]
    assert seen == {bf16} and next(generator.model.parameters()).dtype is torch.float32


def test_off_the_cpu_a_model_is_bfloat16_and_rows_are_as_many_as_fit(monkeypatch):
    """A training checkpoint is float32. The device here is torch's `meta`, which has shapes and types alone."""
    assert TransformersGenerator.from_pretrained(resolve_model("nano", "policy")).batch_size == 32
    monkeypatch.setattr("cooper_rl.generation.in_process.own_device", lambda: torch.device("meta"))
    generator = load_generator(resolve_model("nano", "policy"), EvalConfig(model="m", output="o"))
    assert {parameter.dtype for parameter in generator.model.parameters()} == {torch.bfloat16}
    assert [len(rows) for rows in batches_by_length(["?" * 200] * 400, generator.batch_size, 320)] == [312, 88]


def test_a_batch_of_completions_has_at_most_so_many_tokens(monkeypatch):
    """1,024 rows of a generation batch by vLLM, of 8,192 tokens each, would be 360 GB of keys and values."""
    sizes = []

    def written(model, tokenizer, prompts, sampling):
        sizes.append(len(prompts))
        return [Generation("", "stop")] * len(prompts)

    monkeypatch.setattr("cooper_rl.generation.in_process.generate_batch", written)
    generator = TransformersGenerator.from_pretrained(resolve_model("nano", "policy"))
    for length, expected in ((64, [40]), (8192, [15, 15, 10]), (10**6, [1] * 40)):
        sizes.clear()
        sample(generator.model, generator.tokenizer, ["?" * 100] * 40, Sampling(length), batch_size=1024)
        assert sizes == expected
        sizes.clear()
        list(generator.stream([conversation("?" * 100)] * 40, Sampling(length)))
        assert sizes == ([32, 8] if length == 64 else expected)


def test_ranks_make_as_many_batches_of_heldout_completions_as_the_others(monkeypatch):
    """A sharded policy generates on all ranks in step: with another number of batches a rank would wait for ever."""
    sizes, longest = [], []
    monkeypatch.setattr(
        "cooper_rl.generation.in_process.generate_batch",
        lambda model, tokenizer, prompts, sampling: (
            sizes.append(len(prompts)) or [Generation("", "stop")] * len(prompts)
        ),
    )
    generator = TransformersGenerator.from_pretrained(resolve_model("nano", "policy"))
    monkeypatch.setattr("cooper_rl.distributed.size", lambda: 2)
    monkeypatch.setattr("cooper_rl.distributed.most", lambda count, device: longest.append(count) or 2100)
    counts = []
    for length in (100, 2000):  # of the two ranks' prompts
        sizes.clear()
        sample(generator.model, generator.tokenizer, ["?" * length] * 60, Sampling(2048), batch_size=128)
        counts.append(len(sizes))
    assert counts == [2, 2] and longest[0] < 200 and 2000 <= longest[1] < 2100


def test_who_judges_what():
    config = EvalConfig(model="m", output="o")
    assert config.benchmarks[:2] == ["gsm8k", "svamp"]
    assert [verifier_of(config, b) for b in ("gsm8k", "aqua", "reasoning_gym:gcd")] == [
        "math",
        "choice",
        "reasoning_gym:gcd",
    ]
    with pytest.raises(BadInputError, match="eval: model is not set"):
        EvalConfig(output="o")


@pytest.mark.parametrize(
    ("kind", "expected"), [("cpu", {}), ("mps", {}), ("cuda", {"device_type": "cuda"}), ("xpu", {"device_type": "xpu"})]
)
def test_the_random_state_of_any_accelerator_comes_back(monkeypatch, kind, expected):
    asked = []
    monkeypatch.setattr(torch.random, "fork_rng", lambda **given: nullcontext(asked.append(given)))
    model = Mock(training=False, device=SimpleNamespace(type=kind))
    with torch.random.fork_rng(), in_process.isolate(model, 0):
        pass
    assert asked[1] == {"devices": [model.device] if expected else [], **expected}
