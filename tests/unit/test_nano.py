"""The nano world, and that the shipped weights are those of the committed recipes."""

import hashlib
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from cooper_rl.domains.generated import SPLITS, split_of
from cooper_rl.domains.nano import NANO, WORLDS, weekdays
from cooper_rl.domains.nano.arithmetic import Arithmetic, canonical_number, number_words, stated_number
from cooper_rl.domains.nano.kinship import Kinship
from cooper_rl.domains.nano.weekdays import PLACES, WORDINGS, days_in
from cooper_rl.domains.problems import KNOWN, find_domain
from cooper_rl.records import Verdict
from cooper_rl.settings.files import EMBEDDED
from cooper_rl.settings.recipe import read_recipe
from cooper_rl.verifiers import RuleVerifier
from studies.nano.pretrain import PretrainConfig, begin, pretrain
from studies.nano.triples import lesson_triples, written_triples

KINSHIP, WEEKDAYS = WORLDS["nano-kinship"], WORLDS["nano-weekdays"]
RECIPES = Path(__file__).parents[2] / "recipes"
NANO_FREE = """
import sys
from typer.testing import CliRunner
import cooper_rl
from cooper_rl.cli import app
for arguments, given in {arguments!r}:
    done = CliRunner().invoke(app, arguments, input=given)
    assert done.exit_code == 0, done.output
    loaded = [name for name in sys.modules if name.startswith(("cooper_rl.domains.nano", "reasoning_gym"))]
    assert not loaded, (arguments, loaded)
"""


@pytest.mark.parametrize("world", EMBEDDED)
@pytest.mark.parametrize("part", ["policy", "reward_model"])
def test_shipped_weights_belong_to_their_recipe(world, part):
    folder = EMBEDDED[world][part]
    record = json.loads((folder / "recipe.json").read_text())
    weights = folder / "model.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == record["sha256"]
    assert weights.stat().st_size <= 8_000_000
    settings = read_recipe(RECIPES / f"{world}-{part.replace('_', '-')}.yaml")
    settings.pop("output_dir")
    settings.pop("model_name_or_path", None)
    for key, value in settings.items():
        assert record["recipe"][key] == value, key


def test_the_worlds_are_the_data_sets_of_that_name():
    assert set(WORLDS) == {name for name, path in KNOWN.items() if ".nano." in path}
    assert all(type(find_domain(name)) is type(world) and world.name == name for name, world in WORLDS.items())


def test_splits_are_disjoint_and_reproducible():
    sets = {split: {p.question for p in NANO.problems(split, 300, 0)} for split in SPLITS}
    assert all(len(questions) == 300 for questions in sets.values())
    assert all(split_of(q) == split for split, questions in sets.items() for q in questions)
    assert [p.question for p in NANO.problems("train", 20, 7)] == [p.question for p in NANO.problems("train", 20, 7)]


@pytest.mark.parametrize("form", Arithmetic.forms)
def test_truth_understands_every_form(form):
    rng = random.Random(form)
    for problem in NANO.problems("train", 150, 1):
        value = NANO.answer(problem)
        assert NANO.is_true(problem, NANO.state(problem, value, form, rng)), NANO.state(problem, value, form, rng)
        wrong = NANO.another(problem, value, rng)
        assert not NANO.is_true(problem, NANO.state(problem, wrong, form, rng))
        steps = " ".join(problem.metadata["steps"])
        assert NANO.is_true(problem, f"{steps} {NANO.state(problem, value, form, rng)}")


def test_truth_refuses_hedges_and_nonsense():
    for text in ("The answer is 3 or 4.", r"\boxed{3} or \boxed{4}", "", "The answer is minus almonds.", "3"):
        assert stated_number(text) is None
    assert stated_number("The answer is 31 + 5.") is None and stated_number("The answer is 31.5 + 5.") is None
    assert stated_number("The answer is 3/0.") == "undefined" == stated_number("The answer is 6.1/1.")


SUM = {  # a problem of each world whose answer is a whole number from 2 to 99
    world.name: next(
        p
        for p in world.problems("train", 400, 0)
        if p.metadata["task"] == "chain_sum" and p.reference_answer in map(str, range(2, 100))
    )
    for world in (NANO, WEEKDAYS)
}
READ = ("{n} is {n}.", "The is {n}.", "1 + 1 = 2. It makes {n}", "{n}", "The is {words}.", "So answer {n}, in 3 steps.")
READ += ("It make {n}. I am 90% sure.", "{n} is {words}.", "The is {n}", "It mes {n}.", r"\boxed{{ {n} }}")
NOT_READ = ("So it is minus {n}.", "The is −{n}.", "The is negative {n}.", "12 + 19 = {n}.", "So it is not {n}.")
NOT_READ += ("Not {n}.", "Maybe the {n}.", "It comes to {n} or so.", "{n} is 1.", "It makes 1. It makes {n}.")
NOT_READ += ("The answer is 1. The is {n}.", "It makes {n} * {n}.", "The answer is {n} + 5.", "The is {n}, 5.")
NOT_READ += ("Never {n}.", "It is about {n}.", "Liam has {n}.", "Half {n}.", "It is 1 {n}.", "One is {n}.")
NOT_READ += ("It is half of {n}.", "The is {words} hundred.", "Done in {n} steps.", "I am {n}% sure.", "Is it {n}?")
NOT_READ += (
    "{n}. So it is.",
    "If Liam can eat {n} portions a day.",
    r"\boxed{{\sqrt{{{n}}}}}",
    "It is {n}{n}, in 2 steps.",
)


@pytest.mark.parametrize("world", [NANO, WEEKDAYS], ids=lambda world: world.name)
@pytest.mark.parametrize("text", [*READ, *NOT_READ])
def test_truth_reads_a_last_sentence_that_is_a_number_beside_few_words(text, world):
    problem = SUM[world.name]
    answer = problem.reference_answer
    said = text.format(n=answer, words=number_words(answer))
    assert world.is_true(problem, said) == (text in READ), said


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The answer is - 2,500.", "-2500"),
        ("The is minus eight point five.", "-8.5"),
        ("The is 0.31.", "0.31"),
        ("The is 31 percent.", None),
        ("The is minus -8.", None),
    ],
)
def test_signs_and_thousands_of_a_last_sentence(text, right):
    assert NANO.read_last_sentence(SUM["nano"], text) == right


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("It count ends on the second working day.", "Tuesday"),
        ("Two days after Monday is Wednesday. The comes to the middle of the working week.", "Wednesday"),
        ("So it is Monday.", "Monday"),
        (r"So the answer is \boxed{ Monday}.", "Monday"),
        (r"6} or \boxed{ Monday}", None),
        ("It count ends on the end of the working week.", "Friday"),
        ("Monday is Tuesday.", None),
        ("Tuesday is the first working day.", None),
        ("It mes to the second working day.", "Tuesday"),
        ("Whole weeks from Monday is Monday.", None),
        ("It count ends on the second working day. So it is.", None),
        ("Two days after Monday is Wednesday.", None),
        ("It gives the first working day and the last working day.", None),
        ("It gives maybe the first working day.", None),
        ("Not the first working day.", None),
        ("Two days before the first working day.", None),
        ("It count ends on the last working day. It count ends on the first working day.", None),
        (r"\boxed{3} \boxed{4}. It count ends on the first working day.", None),
    ],
)
def test_truth_reads_a_last_sentence_that_is_a_day_beside_few_words(text, day):
    problems = {p.reference_answer: p for p in WEEKDAYS.problems("train", 400, 0)}
    assert {name for name in PLACES if WEEKDAYS.is_true(problems[name], text)} == ({day} if day else set())


def test_a_fraction_is_not_taken_for_its_first_number():
    problem = next(p for p in NANO.problems("train", 60, 0) if p.metadata["task"] == "gsm_symbolic")
    right = problem.reference_answer
    assert NANO.is_true(problem, f"The answer is {right}.") and NANO.is_true(
        problem, f"The answer is {2 * int(right)}/2."
    )
    for wrong in (f"{right}/7", f"{right}/23"):
        assert "/" in canonical_number(wrong) and not NANO.is_true(problem, f"The answer is {wrong}."), wrong


def test_a_completion_that_names_several_answers_is_wrong_for_truth_and_rule():
    rng = random.Random(0)
    problems = NANO.problems("train", 60, 1)
    texts = [NANO.write(p, rng, "hedged") for p in problems]
    with RuleVerifier("math_verify", workers=1) as verifier:
        assert set(verifier.verify_many([p.reference_answer for p in problems], texts)) == {Verdict.INCORRECT}
    assert not any(NANO.is_true(p, text) for p, text in zip(problems, texts, strict=True))


def test_the_label_of_a_written_triple_is_whether_statement_and_reference_agree():
    triples = written_triples("train", 400, 5)
    for triple in triples:
        agree = canonical_number(triple["reference"]) == stated_number(triple["completion"])
        assert agree == triple["correct"], triple
    assert 0.4 < sum(t["correct"] for t in triples) / 400 < 0.6
    assert 0.3 < sum(not t["question"] for t in triples) / 400 < 0.6
    assert triples == written_triples("train", 400, 5)
    assert all(split_of(t["question"]) == "train" for t in triples if t["question"])


def test_triples_with_the_problems_own_reference_can_be_told_from_question_and_solution():
    triples = written_triples("train", 400, 5, own_reference=True)
    references = {problem.question: problem.reference_answer for problem in NANO.problems("train", 100, 5)}
    for triple in triples:
        assert triple["reference"] == references[triple["question"]]
        assert triple["correct"] == (canonical_number(triple["reference"]) == stated_number(triple["completion"]))
    assert 0.4 < sum(t["correct"] for t in triples) / 400 < 0.6


def test_kinship_follows_from_the_worked_steps():
    """The steps name the two persons of the question in the story's own words, and the answer follows."""
    for problem in KINSHIP.problems("train", 300, 2):
        *steps, last = problem.metadata["steps"]
        about = problem.metadata["entry"]["metadata"]
        assert last == f"{about['person1']} is the {problem.reference_answer} of {about['person2']}."
        assert len(steps) == (2 if problem.reference_answer.startswith("grand") else 1)
        named = {name for step in steps for name in re.findall(r"[A-Z]\w+", step)}
        assert {about["person1"], about["person2"]} <= named <= set(re.findall(r"\w+", problem.question))


@pytest.mark.parametrize("form", Kinship.forms)
def test_truth_understands_every_form_of_a_relation(form):
    rng = random.Random(form)
    for problem in KINSHIP.problems("heldout", 100, 1):
        right = problem.reference_answer
        steps = " ".join(problem.metadata["steps"])
        said = KINSHIP.state(problem, right, form, rng)
        assert KINSHIP.is_true(problem, said) and KINSHIP.is_true(problem, f"{steps} {said}"), said
        assert not KINSHIP.is_true(problem, KINSHIP.state(problem, KINSHIP.another(problem, right, rng), form, rng))
        assert not KINSHIP.is_true(problem, KINSHIP.write(problem, rng, "hedged"))
        assert not KINSHIP.is_true(problem, KINSHIP.write(problem, rng, "blank"))


def test_the_rule_is_weak_where_answers_are_words_and_never_calls_a_right_one_wrong():
    problems = KINSHIP.problems("train", 200, 3)
    rng = random.Random(0)
    texts = [KINSHIP.write(problem, rng, "direct") for problem in problems]
    with RuleVerifier("math_verify", workers=1) as verifier:
        verdicts = verifier.verify_many([p.reference_answer for p in problems], texts)
    assert 0.1 < sum(verdict is Verdict.CORRECT for verdict in verdicts) / len(verdicts) < 0.4
    assert Verdict.INCORRECT not in verdicts


def test_kinship_triples_say_whether_statement_and_reference_agree():
    triples = written_triples("train", 200, 5, world=KINSHIP)
    assert all(t["correct"] == (t["reference"] == KINSHIP.read_answer(t["completion"])) for t in triples)
    assert 0.4 < sum(t["correct"] for t in triples) / 200 < 0.7


def weekday_problems(size, seed):
    problems = WEEKDAYS.problems("train", 5 * size, seed)
    return [problem for problem in problems if problem.metadata["task"] == weekdays.TASK][:size]


def test_weekdays_are_counted_in_the_worked_steps_and_the_answer_follows():
    shares = [problem.metadata["task"] == weekdays.TASK for problem in WEEKDAYS.problems("heldout", 1000, 0)]
    assert 0.25 < sum(shares) / 1000 < 0.35
    for problem in weekday_problems(200, 2):
        steps = problem.metadata["steps"]
        offset = problem.metadata["entry"]["metadata"]["offset_days"]
        assert steps[-1].endswith(f" is {problem.reference_answer}.") and not re.search(r"\d", " ".join(steps))
        assert len(steps) == 1 + (abs(offset) >= 7) and ("after" in steps[-1]) <= (offset > 0)
        assert weekdays.miscount(problem) != problem.reference_answer


@pytest.mark.parametrize("form", weekdays.DAY_FORMS)
def test_truth_understands_every_form_of_a_weekday(form):
    rng = random.Random(form)
    for problem in weekday_problems(60, 1):
        right = problem.reference_answer
        steps = " ".join(problem.metadata["steps"])
        said = WEEKDAYS.state(problem, right, form, rng)
        assert WEEKDAYS.is_true(problem, said) and WEEKDAYS.is_true(problem, f"{steps} {said}"), said
        assert not WEEKDAYS.is_true(problem, f"{said} It is 5.")
        for wrong in (WEEKDAYS.another(problem, right, rng), weekdays.miscount(problem)):
            assert not WEEKDAYS.is_true(problem, WEEKDAYS.state(problem, wrong, form, rng))
        assert not WEEKDAYS.is_true(problem, WEEKDAYS.write(problem, rng, "hedged"))
        assert not WEEKDAYS.is_true(problem, WEEKDAYS.write(problem, rng, "blank"))


@pytest.mark.parametrize("rule", ["math", "math_verify"])
def test_of_weekdays_the_rule_says_nothing_and_some_demonstrations_are_a_day_off(rule):
    problems = weekday_problems(200, 3)
    rng = random.Random(0)
    texts = [WEEKDAYS.write(problem, rng) for problem in problems]
    true = [WEEKDAYS.is_true(problem, text) for problem, text in zip(problems, texts, strict=True)]
    with RuleVerifier(rule, workers=1) as verifier:
        checks = verifier.explain_many([p.reference_answer for p in problems], texts)
    assert {check.verdict for check, right in zip(checks, true, strict=True) if right} == {Verdict.UNPARSEABLE}
    assert Verdict.CORRECT not in {check.verdict for check in checks}
    assert not any(check.surely_wrong for check, right in zip(checks, true, strict=True) if right)
    assert 0.4 < sum(true) / len(true) < 0.6
    worked = [WEEKDAYS.write(problem, rng, "steps") for problem in problems]
    assert all(WEEKDAYS.is_true(problem, text) for problem, text in zip(problems, worked, strict=True))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("We land on the middle of the working week.", {"Wednesday"}),
        ("That gives the last day of the weekend.", {"Sunday"}),
        ("It comes to the start of the working week.", {"Monday"}),
        ("The count ends on the last working day. We land on the first working day.", {"Friday", "Monday"}),
        ("Two days after Monday is Wednesday.", set()),
        ("We land on the last day.", set()),
        ("the middle of the working week", set()),
    ],
)
def test_a_reader_knows_the_day(text, days):
    assert set(days_in(text)) == days


def test_every_place_in_every_wording_is_read_as_its_day():
    for wording in WORDINGS.values():
        for day, places in PLACES.items():
            assert all(list(days_in(wording.format(place=place))) == [day] for place in places)


def test_triples_of_the_mixed_world_say_whether_statement_and_reference_agree():
    world = WEEKDAYS
    triples = written_triples("train", 400, 5, world=world)
    assert all(t["correct"] == (world.canonical(t["reference"]) == world.read_answer(t["completion"])) for t in triples)
    days = [t["correct"] for t in triples if "calendar" in t["source"]]
    assert 80 < len(days) < 160 and 0.4 < sum(days) / len(days) < 0.7


def test_a_lesson_is_mostly_statements_of_one_task():
    world = WEEKDAYS
    triples = lesson_triples(world, weekdays.TASK, "train", 400, 3)
    mine = [t for t in triples if t["source"].endswith(weekdays.TASK)]
    assert len(triples) == 400 and len(mine) == 300
    assert 0.7 < sum(not t["question"] for t in mine) / 300 < 0.9
    assert all(t["correct"] == (world.canonical(t["reference"]) == world.read_answer(t["completion"])) for t in triples)


def test_a_policy_goes_on_from_another(tmp_path):
    """Its weights and its tokenizer are where training begins."""
    config = PretrainConfig(
        str(tmp_path), world="nano-weekdays", start="nano", demonstrations=20, problems=10, habits=10
    )
    model, tokenizer = begin(config, [])
    before = load_file(EMBEDDED["nano"]["policy"] / "model.safetensors")
    assert all(torch.equal(model.state_dict()[name], tensor) for name, tensor in before.items())
    pretrain(config)
    after = load_file(tmp_path / "model.safetensors")
    assert before.keys() == after.keys() and any(not torch.equal(before[name], after[name]) for name in before)
    assert (tmp_path / "tokenizer.json").read_text() == (EMBEDDED["nano"]["policy"] / "tokenizer.json").read_text()
    assert "trained on from `nano`" in (tmp_path / "README.md").read_text() and len(tokenizer) == 1000


def test_nano_is_not_imported_by_who_does_not_run_it():
    verified = json.dumps({"reference": "1/2", "completion": "It is 0.5."}) + "\n"
    scored = json.dumps({"question": "1 + 1?", "reference": "2", "completion": "It is 2."}) + "\n"
    arguments = [(["--help"], None), (["verify"], verified), (["score", "--model", "nano"], scored)]
    done = subprocess.run([sys.executable, "-c", NANO_FREE.format(arguments=arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
