"""The contract of domains: ours keep it, it notices what breaks it, and a user's own domain is found and used."""

import json
import random
import subprocess
import sys

import pyarrow
import pyarrow.parquet
import pytest

from cooper_rl.domains import Domain, check_problems, find_domain, load_problems, truth_of
from cooper_rl.domains.problems import KNOWN
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.benchmarks import verifier_of
from cooper_rl.records import Problem
from cooper_rl.settings.asking import EvalConfig
from cooper_rl.testing import check_domain

PUBLISHED = {  # how the published files write the problem number i
    "gsm8k": lambda i: {"question": f"{i} and 1?", "answer": f"It is <<{i}+1={i + 1}>>{i + 1}.\n#### {i + 1}"},
    "math": lambda i: {"problem": f"{i} + 1?", "solution": "S", "answer": f"\\frac{{{i}}}{{7}}"},
    "math500": lambda i: {"problem": f"{i} + 1?", "solution": "S", "answer": str(i)},
    "svamp": lambda i: {"Body": f"{i}.", "Question": "How many?", "Answer": float(i)},
    "olympiadbench": lambda i: {"question": f"{i} + 1?", "final_answer": [f"${i}$"]},
    "odyssey": lambda i: {
        f"Problem_{i}": {"question": f"{i} + 1?\n\n\\end{{problem}}\t\n\\noindent", "answer": f"{i}\\\\\n\\noindent"}
    },
    "dapo-math-17k": lambda i: {
        "prompt": [{"role": "user", "content": f"{i} + 1?"}],
        "reward_model": {"ground_truth": str(i + 1)},
    },
    "aqua": lambda i: {"question": f"{i}?", "options": ["A)1", "B)2"], "rationale": "R", "correct": "ABCDE"[i % 5]},
}


class Squares(Domain):
    """A domain as a user writes one."""

    name = "squares"
    splits = ("train", "test")

    def problems(self, split, size, seed):
        self.check_split(split)
        numbers = range(100, 200) if split == "train" else range(100)
        chosen = random.Random(f"{split}-{seed}").sample(numbers, size or 100)
        return [Problem(f"What is {n} * {n}?", str(n * n), "squares", f"squares-{n}") for n in chosen]

    def is_true(self, problem, completion):
        return completion.endswith(f"boxed{{{problem.reference_answer}}}.")


@pytest.mark.parametrize(
    "name", ["nano", "nano-weekdays", "nano-kinship", "nano-steps", "schoolbook", "reasoning_gym:chain_sum"]
)
def test_generated_domains_keep_the_contract(name):
    check_domain(find_domain(name))


def test_a_generated_domain_whose_answers_have_many_writings_keeps_the_contract():
    check_domain(find_domain("studies.passages.data_set:Passages"), same=have_one_answer)


def have_one_answer(one, other):
    """Whether their answers are the same, or have a writing in common (Ana Lopez and Ana Ortiz are both Ana)."""
    return bool(set(one.metadata["writings"]) & set(other.metadata["writings"]))


@pytest.mark.parametrize("name", PUBLISHED)
def test_public_sets_keep_the_contract(name, tmp_path, monkeypatch):
    monkeypatch.setenv("COOPER_DATA_DIR", str(tmp_path))
    domain = find_domain(name)
    for offset, filename in enumerate(domain.local.values()):
        records = [PUBLISHED[name](100 * offset + i) for i in range(10)]
        if filename.endswith(".parquet"):
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), tmp_path / filename)
        else:
            (tmp_path / filename).write_text("".join(json.dumps(record) + "\n" for record in records))
    check_domain(domain, size=8)


def test_a_file_keeps_the_contract(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(f'{{"question": "{i} + 1?", "answer": {i + 1}}}\n' for i in range(30)))
    check_domain(find_domain(str(tmp_path / "a.jsonl")), size=20)


def test_every_domain_of_ours_is_tried_here():
    assert PUBLISHED.keys() | {"nano", "nano-weekdays", "nano-kinship", "nano-steps", "schoolbook"} == KNOWN.keys()


def test_a_user_s_own_domain_keeps_it():
    check_domain(Squares())


def broken(**methods):
    return type("Broken", (Squares,), methods)()


def unsplit(self, split, size, seed):
    return Squares.problems(self, "train", size, seed)


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (
            broken(problems=lambda self, split, size, seed: Squares.problems(self, split, size, random.random())),
            "global random state",
        ),
        (broken(problems=lambda self, split, size, seed: []), "0 problems where 40"),
        (broken(problems=lambda self, split, size, seed: [Problem("1?", "1")]), "no id"),
        (broken(problems=unsplit), "share a question"),
        (broken(is_true=lambda self, problem, completion: True), "is_true accepts"),
        (broken(is_true=lambda self, problem, completion: False), "is_true rejects"),
        (broken(verifier="choice"), "choice says"),
        (broken(check=lambda self, split: None), "not refused"),
    ],
)
def test_a_broken_domain_is_noticed(domain, message):
    with pytest.raises(AssertionError, match=message):
        check_domain(domain)


def test_a_user_s_own_domain_is_found_by_import_path():
    path = f"{__name__}:Squares"
    assert len(load_problems(path, split="test", size=7)) == 7
    problem, *_ = load_problems(path, size=1)
    assert truth_of(path)(problem, f"It is \\boxed{{{problem.reference_answer}}}.") and truth_of("") is None
    with pytest.raises(BadInputError, match="squares has no split 'heldout', only train, test"):
        check_problems(path, "heldout")


def test_what_is_no_domain_is_refused():
    with pytest.raises(BadInputError, match=r"no subclass of cooper_rl\.domains\.Domain"):
        find_domain("fractions:Fraction")
    with pytest.raises(BadInputError, match=r"did you mean gsm8k\?.*hub id.*jsonl"):
        find_domain("gsm9k")


def test_a_domain_brings_its_verifier():
    verifiers = {
        name: verifier_of(EvalConfig(model="m", benchmarks=[name], output="out"), name)
        for name in ("gsm8k", "aqua", "a/b", "a.jsonl")
    }
    assert verifiers == {"gsm8k": "math", "aqua": "choice", "a/b": "math", "a.jsonl": "math"}
    assert verifier_of(EvalConfig(model="m", output="out"), "reasoning_gym:chain_sum") == "reasoning_gym:chain_sum"
    assert verifier_of(EvalConfig(model="m", output="out", verifier="exact"), "aqua") == "exact"


def test_a_domain_s_name_imports_nothing_that_it_does_not_need():
    code = (
        "import sys\nfrom cooper_rl.domains import check_problems, find_domain\nfind_domain('gsm8k')\n"
        "assert not [name for name in sys.modules if name.startswith('cooper_rl.domains.nano')]\n"
        "check_problems('nano', 'heldout')\nfind_domain('reasoning_gym:chain_sum')\n"
        "assert not {'torch', 'reasoning_gym', 'datasets'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
