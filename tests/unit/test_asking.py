"""Asking models and scorers: what is refused, failed, cut off or said in other words, and what is compared."""

import json
import logging
import re

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from cooper_rl.columns import decimal_of
from cooper_rl.domains import load_problems, truth_of
from cooper_rl.domains.generated import ReasoningGymTask
from cooper_rl.domains.public import Gsm8k
from cooper_rl.errors import BackendError, BadInputError
from cooper_rl.evaluation.benchmarks import evaluate_model, read_results
from cooper_rl.evaluation.eval_rm import EvalSettings, evaluate_files
from cooper_rl.fast.decode import draw_from_nucleus
from cooper_rl.generation import OpenAIServer, Sampling
from cooper_rl.generation.in_process import end_tokens, render_chat
from cooper_rl.labelling.annotate import annotate
from cooper_rl.labelling.collect import collect
from cooper_rl.records import LabelledCompletion
from cooper_rl.settings.asking import AnnotateConfig, CollectConfig, EvalConfig
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.reward_model import AugmentationSettings
from cooper_rl.synthesis.augment import augment_triples
from cooper_rl.synthesis.same_answer import _decimal
from cooper_rl.verifiers.math.stated import read
from http_server import said

TASKS = ("calendar_arithmetic", "complex_arithmetic", "word_sorting", "gcd")


@pytest.mark.parametrize("task", TASKS)
def test_a_tasks_scorer_finds_its_own_answer_right_and_its_splits_are_apart(task):
    name = f"reasoning_gym:{task}"
    train, test = (load_problems(name, split=split, size=30) for split in ("train", "test"))
    assert len({p.question for p in train}) == len(train) == 30
    assert not {p.question for p in train} & {p.question for p in test}
    other = load_problems(name, split="train", size=30, seed=1)
    assert len({p.question for p in train} & {p.question for p in other}) < 20
    is_true = truth_of(name)
    assert all(is_true(p, f"So the answer is \\boxed{{{p.reference_answer}}}") for p in test[:10])
    assert not is_true(test[0], r"So the answer is \boxed{no answer at all}")


@pytest.mark.parametrize("task", ["spiral_matrix", "countdown", "polynomial_multiplication", "prime_factorization"])
def test_an_answer_is_never_run(task, tmp_path):
    name, ran = f"reasoning_gym:{task}", tmp_path / "ran"
    (problem,) = load_problems(name, split="test", size=1)
    is_true = truth_of(name)
    assert is_true(problem, f"\\boxed{{{problem.reference_answer}}}")
    for hostile in (f"[open('{ran}','w').write('x')]", "9**9**9**9", "7 and 11", "().__class__.__base__"):
        assert not is_true(problem, f"The answer is \\boxed{{{hostile}}}")
    assert not ran.exists()


def test_a_scorer_that_compares_tuples_finds_its_own_answer_right():
    (problem,) = load_problems("reasoning_gym:rearc", split="test", size=1)
    assert truth_of("reasoning_gym:rearc")(problem, f"\\boxed{{{problem.reference_answer}}}")


def test_a_task_with_few_questions_has_few_problems(caplog):
    problems = ReasoningGymTask("tower_of_hanoi").problems("test", 300, 0)
    assert 0 < len(problems) == len({p.question for p in problems}) < 300
    assert f"only {len(problems)} different problems were found, not 300" in caplog.text
    with pytest.raises(BadInputError, match="no such task"):
        ReasoningGymTask("no_such_task").problems("train", 2, 0)
    with pytest.raises(BadInputError, match="has no split 'dev'"):
        ReasoningGymTask("gcd").problems("dev", 2, 0)


def test_who_answers_a_task_rightly_has_100_percent(serve, tmp_path):
    name = "reasoning_gym:calendar_arithmetic"
    answers = {p.question: p.reference_answer for p in load_problems(name, split="test", size=6)}
    server = serve(lambda body, _: (200, said(f"\\boxed{{{answers[body['messages'][-1]['content']]}}}")))
    config = EvalConfig(
        model=f"m@{server.url}", benchmarks=[name], size=6, num_samples=1, output=str(tmp_path), bootstrap_samples=10
    )
    row = evaluate_model(config)["benchmarks"][name]
    assert (row["avg"]["mean"], row["not_judged"]) == (1.0, 0.0)


def problems_of(path, *answers):
    rows = [{"question": f"What is number {n}?", "answer": answer} for n, answer in enumerate(answers)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_one_answer_in_several_writings_is_one_vote(serve, tmp_path):
    said_by_sample = iter(
        [r"\boxed{1/2}", r"\boxed{0.5}", r"\boxed{\frac{1}{2}}", "**1/2**", *[r"\boxed{3}"] * 2, "?", ""]
    )
    server = serve(lambda body, _: (200, said(next(said_by_sample))))
    name = problems_of(tmp_path / "p.jsonl", "1/2")
    config = EvalConfig(
        model=f"m@{server.url}", benchmarks=[name], num_samples=8, output=str(tmp_path / "e"), bootstrap_samples=10
    )
    row = evaluate_model(config)["benchmarks"][name]
    assert (row["avg"]["mean"], row["majority@8"]["mean"]) == (0.5, 1.0)


def test_an_evaluation_takes_each_of_several_answers_from_a_column_of_its_own(serve, tmp_path):
    server = serve(lambda body, _: (200, said(r"\boxed{IV}")))
    row = {"question": "What is 2 + 2?", "answer": "no", "solution": ["4", "IV"]}
    (tmp_path / "p.jsonl").write_text(json.dumps(row) + "\n")
    own = {"model": f"m@{server.url}", "benchmarks": [str(tmp_path / "p.jsonl")], "num_samples": 1}
    config = EvalConfig(**own, reference_column="solution", verifier="exact", output=str(tmp_path / "e"))
    found = evaluate_model(config)
    assert found["protocol"]["reference_column"] == "solution"
    assert found["benchmarks"][own["benchmarks"][0]]["avg"]["mean"] == 1.0


def test_another_seed_and_another_protocol_do_not_pass_in_silence(serve, tmp_path, caplog):
    server = serve(lambda body, _: (200, said(r"\boxed{1}")))
    name = problems_of(tmp_path / "p.jsonl", "1", "2")
    own = {"model": f"m@{server.url}", "benchmarks": [name], "num_samples": 2, "bootstrap_samples": 10}
    evaluate_model(EvalConfig(**own, output=str(tmp_path / "a")))
    with pytest.raises(BadInputError, match="collected with another seed"):
        evaluate_model(EvalConfig(**own, output=str(tmp_path / "a"), seed=7), resume=True)
    with caplog.at_level(logging.WARNING):
        evaluate_model(EvalConfig(**own, output=str(tmp_path / "b"), temperature=0.1, against=str(tmp_path / "a")))
    assert "was evaluated with another temperature" in caplog.text
    (tmp_path / "a" / "results.json").write_text('{"a": 1}')
    with pytest.raises(BadInputError, match="not the results of an evaluation"):
        read_results(tmp_path / "a")


def test_a_judge_that_does_not_answer_has_no_figures(tmp_path):
    rows = [{"question": "1 + 1?", "reference": "2", "completion": "2", "correct": True}]
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = "j@http://127.0.0.1:1/v1"
    with pytest.raises(BackendError, match="the judge gave no answer"):
        evaluate_files([str(tmp_path / "l.jsonl")], EvalSettings(judge=judge, probes=False, bootstrap_samples=5))


def completions(path, count=3):
    rows = [{"question": f"{n} + 1?", "answer": str(n + 1), "completion": rf"\boxed{{{n + 1}}}"} for n in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_refused_prompt_is_told_apart_and_stops_nothing(serve, tmp_path, caplog):
    def behave(body, _):
        if "1 + 1?" in body["messages"][-1]["content"]:
            return 400, {"error": "longer than the context"}
        return 200, said("Grade: correct")

    server = serve(behave)
    own = {"judge": f"j@{server.url}", "decontaminate_against": [], "retries": 0, "deduplicate": 0}
    config = AnnotateConfig([completions(tmp_path / "c.jsonl")], str(tmp_path / "o.jsonl"), **own)
    assert annotate(config)["dropped"] == {"judge_failed": 1}
    assert "gave no answer for 1 completions" in caplog.text
    (tmp_path / "o.jsonl").unlink()
    assert annotate(config, resume=True)["dropped"] == {"judge_failed": 1}  # asked alone, it is still not an outage
    generations = list(
        OpenAIServer(server.url, "m", retries=0).stream([[{"role": "user", "content": "1 + 1?"}]], Sampling(5))
    )
    assert re.search(r"refused: .*status 400: .*longer than the context", generations[0][1].finish_reason)


def test_a_refused_prompt_counts_as_wrong_and_ends_no_evaluation(serve, tmp_path, caplog):
    open_prompts = {"What is number 1?"}

    def behave(body, _):
        if body["messages"][-1]["content"] in open_prompts:
            return 200, said(r"\boxed{5}")
        return 400, {"error": "longer than the context"}

    name = problems_of(tmp_path / "p.jsonl", "5", "5")
    model, out = f"m@{serve(behave).url}", tmp_path / "e"
    config = EvalConfig(model=model, benchmarks=[name], num_samples=2, output=str(out), bootstrap_samples=10, retries=0)
    row = evaluate_model(config)["benchmarks"][name]
    assert (row["avg"]["mean"], row["refused"], row["problems"]) == (0.5, 0.5, 2)
    assert "2 completions were refused by the server, and count as wrong" in caplog.text
    open_prompts.add("What is number 0?")  # the server now has a longer context
    row = evaluate_model(config, resume=True)["benchmarks"][name]
    assert (row["avg"]["mean"], row["refused"]) == (1.0, 0.0)


def test_a_judge_that_was_cut_off_abstains(serve, tmp_path):
    def behave(body, _):
        answer = said("Final answer of the response: this is correct")
        answer["choices"][0]["finish_reason"] = "length"
        return 200, answer

    own = {"judge": f"j@{serve(behave).url}", "decontaminate_against": [], "deduplicate": 0}
    found = annotate(AnnotateConfig([completions(tmp_path / "c.jsonl")], str(tmp_path / "o.jsonl"), **own))
    assert found["dropped"] == {"judge_abstained": 3}


def test_half_a_character_from_a_server_is_written_and_resumed(serve, tmp_path):
    server = serve(lambda body, _: (200, said("half \ud83d")))
    config = CollectConfig([f"m@{server.url}"], [problems_of(tmp_path / "p.jsonl", "1")], str(tmp_path / "o.jsonl"))
    assert collect(config) == {f"m@{server.url}": {"before": 0, "collected": 1, "failed": 0, "refused": 0}}
    assert json.loads((tmp_path / "o.jsonl").read_text())["completion"] == "half ?"


@pytest.mark.parametrize("variable", [("ALL_PROXY", "socks5://127.0.0.1:1"), ("OPENAI_API_KEY", "sk\u2013abc")])
def test_a_client_that_cannot_be_made_ends_the_command(serve, monkeypatch, variable):
    server = serve(lambda body, _: (200, said("1")))
    monkeypatch.setenv(*variable)
    asked = OpenAIServer(server.url, "m").stream([[{"role": "user", "content": "?"}]], Sampling(5))
    with pytest.raises(BackendError, match=re.escape(server.url)):
        list(asked)


def test_outputs_and_names_that_would_lose_something_are_refused(tmp_path):
    with pytest.raises(BadInputError, match=r"without \.gz"):
        CollectConfig(["nano"], ["nano"], "o.jsonl.gz")
    with pytest.raises(BadInputError, match=r"without \.gz"):
        AnnotateConfig(["c.jsonl"], "o.jsonl.gz")
    with pytest.raises(BadInputError, match="m is given twice"):
        CollectConfig(["m@http://a/v1", "m@http://b/v1"], ["nano"], "o.jsonl")


def test_a_local_copy_of_another_form_names_its_record(tmp_path, monkeypatch):
    (tmp_path / "gsm8k_test.jsonl").write_text('{"question": "1 + 1?"}\n')
    monkeypatch.setenv("COOPER_DATA_DIR", str(tmp_path))
    with pytest.raises(BadInputError, match=r"gsm8k_test\.jsonl:1: not of gsm8k"):
        Gsm8k().read("test")


def test_numbers_are_written_out():
    assert [decimal_of(value) for value in (22090603.0, 2.0, 0.5)] == ["22090603", "2", "0.5"]
    assert _decimal(__import__("fractions").Fraction(12345, 64)) == "192.890625"


@pytest.mark.parametrize(
    ("completion", "reference"), [(r"\boxed{B}", "B"), ("mother", "mother"), ("It is 27. #### 27", "27")]
)
def test_what_is_taught_as_wrong_does_not_state_the_right_answer(completion, reference):
    triples = [LabelledCompletion("What is it?", reference, completion, True)] * 200
    grown = augment_triples(triples, AugmentationSettings(augment_wrong=1), seed=0)[200:]
    assert grown and all(not triple.correct for triple in grown)
    stated = {completion.casefold(), rf"\boxed{{{reference.casefold()}}}", reference.casefold()}
    assert [t.completion for t in grown if t.completion.casefold() in stated] == []


@pytest.mark.parametrize(
    ("reasoning", "last"),
    [
        ("**Step 1**\nShe has 3 + 4 = 7 hens.\n", "**Step 2**\nHe has 10 hens on his farm.\n\nHe owns 10 hens"),
        ("**Step 1**\nThere are 3 + 4 = 7 of her aunts.\n", "\n\nShe turns out to be an aunt of his mother"),
    ],
)
def test_a_slip_that_ends_as_the_right_solution_is_not_taught_as_wrong(reasoning, last):
    right = LabelledCompletion("q", "10", reasoning + last, True)
    assert read(right.completion).stated is None
    grown = augment_triples([right] * 300, AugmentationSettings(augment_wrong=1), seed=0)[300:]
    slips = [triple.completion for triple in grown if triple.first_error is not None]
    assert [text for text in slips if text.endswith(last[-12:])] == []
    assert bool(slips) == ("10" in last)


def test_the_likeliest_token_is_always_in_the_nucleus():
    assert draw_from_nucleus(torch.tensor([[0.01] * 10 + [0.9]]), 0.0).tolist() == [10]


@pytest.mark.parametrize("top_p", [0.0, 0.6, 0.95])
def test_beside_a_cpu_the_nucleus_is_found_without_a_look_at_a_value(top_p, monkeypatch):
    """A tensor on `meta` has no values: a look at one, for which a GPU would be waited for, is an error there."""
    assert draw_from_nucleus(torch.rand(3, 500, device="meta"), top_p).shape == (3,)
    probabilities = torch.softmax(4 * torch.randn(50, 300, generator=torch.Generator().manual_seed(0)), -1)
    monkeypatch.setattr("cooper_rl.fast.decode.NUCLEUS", 300)  # all are sorted, as there
    torch.manual_seed(0)
    by_sorting = draw_from_nucleus(probabilities, top_p)
    monkeypatch.undo()
    torch.manual_seed(0)
    assert torch.equal(draw_from_nucleus(probabilities, top_p), by_sorting)


def test_a_completion_ends_at_each_token_that_the_model_names():
    path = resolve_model("nano", "policy")
    model, tokenizer = AutoModelForCausalLM.from_pretrained(path), AutoTokenizer.from_pretrained(path)
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, 7]
    assert end_tokens(model, tokenizer) == [tokenizer.eos_token_id, 7]
    tokenizer.chat_template = "{{ raise_exception('System role not supported') }}"
    with pytest.raises(BadInputError, match=r"System role not supported.*the prompt lacks a system message: change"):
        render_chat(tokenizer, [[{"role": "user", "content": "?"}]])
