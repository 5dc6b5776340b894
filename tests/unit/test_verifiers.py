"""Verdicts and reasons of the rule verifier; the worker processes are real."""

import asyncio
import json
import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pint
import pytest

from cooper_rl.errors import BadInputError
from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers import RuleVerifier, pool, worker
from cooper_rl.verifiers.kinds import complete_of
from cooper_rl.verifiers.math import units
from cooper_rl.verifiers.math.stated import has_answer
from cooper_rl.verifiers.simple import explain_gsm8k_flexible, explain_gsm8k_strict
from cooper_rl.verifiers.stream import verify_stream


@pytest.fixture(scope="module")
def verifier():
    with RuleVerifier(workers=1, deadline_seconds=2) as rule:
        yield rule


QUALIFIED = [  # the number is the reference's, and the text says another one, or more than it
    ("24", "The answer is 24 (twice 12)."),
    *(("5", rf"\boxed{{{text}}}") for text in (r"\neq 5", r"\ge 5", "> 5", r"\text{not }5", r"\text{less than }5")),
    *(("5", text) for text in (r"\boxed{5 \text{ is wrong}}", "It is not 5.", "The answer is at least 5.")),
    *(("12", f"The answer is {text}.") for text in ("half of 12", "twice 12", "the square root of 12")),
    *(("12", rf"\boxed{{12 \text{{ {text}}}}}") for text in ("squared", "factorial")),
]


NOT_QUALIFIED = [  # another number has such a neighbour, or the neighbour means something else
    *(("144", "12 squared is 144."), ("120", "5 factorial is 120"), ("15", "3 is wrong; it is 15")),
    *(("36", "The area is $36$ squared units."), ("12", r"\boxed{12 \text{ squared inches}}")),
    *(("5", "Final answer:\n\n> 5"), ("3", "Answer => 3")),
]


@pytest.mark.parametrize(
    ("reference", "completion", "verdict", "reason"),
    [
        ("1/2", r"so \boxed{0.5}", "CORRECT", "match"),
        ("12", "The answer is 13.", "INCORRECT", "mismatch"),
        ("£12", "12 pounds", "CORRECT", "match"),
        ("two o'clock", "14:00", "UNPARSEABLE", "unknown_form"),
        ("three twenty", "3:20", "UNPARSEABLE", "unknown_form"),
        ("17:15", "17.15", "UNPARSEABLE", "unknown_form"),
        ("1234", "It is 1,234 apples.", "CORRECT", "match"),
        ("1.6", "The answer is 160%.", "CORRECT", "match"),
        ("12", "", "UNPARSEABLE", "no_answer"),
        ("12", " \x00\n", "UNPARSEABLE", "no_answer"),
        ("12", "asdf qwer", "UNPARSEABLE", "no_answer"),
        ("12", "What is 0 + 12?", "UNPARSEABLE", "no_answer"),
        ("12", "\\boxed{}", "UNPARSEABLE", "no_answer"),
        ("12", "So the answer is \\boxed{ }.", "UNPARSEABLE", "no_answer"),
        ("mother", "So the answer is.", "UNPARSEABLE", "no_answer"),
        ("mother", "Susan is Lucy's mum.", "UNPARSEABLE", "unknown_form"),
        ("Sunday", "So it is.", "UNPARSEABLE", "no_answer"),
        ("Sunday", "That is.", "UNPARSEABLE", "no_answer"),
        ("12", "The answer is twelve.", "CORRECT", "match"),
        ("1/2", "so it is one half", "CORRECT", "match"),
        ("1/2", "one half of them remains", "UNPARSEABLE", "unknown_form"),
        ("12", "That makes 12. I am 90% sure.", "UNPARSEABLE", "unknown_form"),
        ("13", "That makes 12. I am 90% sure.", "INCORRECT", "mismatch"),
        ("12", "The answer is 12 or 13.", "INCORRECT", "contradiction"),
        ("12", r"\boxed{12} or \boxed{13}", "INCORRECT", "contradiction"),
        ("12", r"\boxed{12}, that is \boxed{12.0}", "CORRECT", "match"),
        ("", "12", "UNPARSEABLE", "bad_reference"),
        # known fault 8: false positives of the library
        ("2021", r"$\pm 2021$", "INCORRECT", "contradiction"),
        *((reference, completion, "UNPARSEABLE", "unknown_form") for reference, completion in QUALIFIED),
        ("5", "It is not 4 but 5", "CORRECT", "match"),
        ("5", r"So more than 4, it is \boxed{5}.", "CORRECT", "match"),
        ("at least 5", "The answer is at least 5", "CORRECT", "match"),
        (r"(5, \infty)", r"\boxed{x > 5}", "CORRECT", "match"),
        ("$f(x)=1$", r"\boxed{f(x) = 1 \text{ for all } x \in \mathbb{Q}_{>0}}", "CORRECT", "match"),
        *((reference, completion, "CORRECT", "match") for reference, completion in NOT_QUALIFIED),
        (r"\frac{1}{2006!}", r"$\frac{1}{2004!}$", "INCORRECT", "mismatch"),
    ],
)
def test_verdicts(verifier, reference, completion, verdict, reason):
    found = verifier.explain(reference, completion)
    assert (found.verdict, found.reason) == (verdict, reason)


@pytest.mark.parametrize(
    ("references", "completion", "verdict", "reason"),
    [
        (("7", "1/2"), "The answer is 0.5.", "CORRECT", "match"),
        (["1/2", "7"], "The answer is 0.5.", "CORRECT", "match"),
        (("7", "8"), "The answer is 0.5.", "INCORRECT", "mismatch"),
        (("7", "8"), "", "UNPARSEABLE", "no_answer"),
        (("7", " "), "The answer is 0.5.", "UNPARSEABLE", "bad_reference"),
        (("7",), "The answer is 0.5.", "INCORRECT", "mismatch"),
        ((7, 0.5), "The answer is 0.5.", "CORRECT", "match"),
    ],
)
def test_several_references_of_which_each_is_right(verifier, references, completion, verdict, reason):
    found = verifier.explain(references, completion)
    assert (found.verdict.value, found.reason.value) == (verdict, reason)
    assert verifier.verify(references, completion).value == verdict


def test_texts_and_several_texts_in_one_call(verifier):
    said = ["It is 1.", "It is 2.", "It is 3.", "It is 4."]
    found = verifier.verify_many(["1", ("1", "2"), ["1", "2"], "1"], said)
    assert [verdict.value for verdict in found] == ["CORRECT", "CORRECT", "INCORRECT", "INCORRECT"]
    alone, several = (
        verifier.explain_many(each, said) for each in (["1", "2", "9", "4"], [("1",), ["2"], ("9",), "4"])
    )
    assert alone == several
    with pytest.raises(ValueError, match="references: item 1 has no text"):
        verifier.explain_many(["1", ()], ["1", "1"])
    with pytest.raises(ValueError, match="2 references for 1 completions"):
        verifier.explain_many([("1", "2"), "1"], ["1"])


def test_what_one_reference_leaves_open_is_not_wrong():
    wrong = Verification(Verdict.INCORRECT, Reason.MISMATCH)
    nothing = Verification(Verdict.UNPARSEABLE, Reason.NO_ANSWER)
    late, right = Verification(Verdict.TIMEOUT, Reason.DEADLINE), Verification(Verdict.CORRECT, Reason.MATCH)
    assert pool.by_several([wrong, late, right]) is right
    assert pool.by_several([wrong, nothing, late]) is late
    assert pool.by_several([nothing, wrong]) is wrong
    assert pool.by_several([nothing, nothing]) is nothing


def test_the_aliases_of_a_record_are_references_too(verifier):
    written: list[str] = []
    said = {"reference": "1/2", "completion": "It is 7."}
    lines = [json.dumps({**said, **more}) for more in ({}, {"aliases": ["7"]}, {"aliases": None}, {"aliases": []})]
    verify_stream(lines, written.append, verifier=verifier, explain=True)
    verdicts = [json.loads(line)["verdict"] for line in written]
    assert verdicts == ["INCORRECT", "CORRECT", "INCORRECT", "INCORRECT"]
    with pytest.raises(BadInputError, match="<stdin>:1: column 'aliases' holds a dict"):
        verify_stream([json.dumps({**said, "aliases": {}})], written.append, verifier=verifier)


def test_a_hang_is_a_timeout_and_the_others_go_on(verifier):
    """Known fault 8: an input that hangs in spite of math-verify's own time-out."""
    started = time.monotonic()
    completions = [r"\boxed{12}", r"$5^{5^{5^{5^5}}}$", r"\boxed{12}"]
    assert verifier.verify_many(["12"] * 3, completions) == [Verdict.CORRECT, Verdict.TIMEOUT, Verdict.CORRECT]
    assert time.monotonic() - started < 20


def test_from_threads_and_asyncio(verifier):
    """Known fault 8: math-verify's time-out works in the main thread only."""
    found: list[Verdict] = []
    threads = [
        threading.Thread(target=lambda i=i: found.append(verifier.verify(str(i), f"\\boxed{{{i}}}"))) for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [Verdict.CORRECT] * 8

    async def both():
        return await asyncio.gather(verifier.averify("1", "\\boxed{1}"), verifier.averify("1", "\\boxed{2}"))

    assert asyncio.run(both()) == [Verdict.CORRECT, Verdict.INCORRECT]


def judged_elsewhere(verifier):
    return verifier.verify_many(["1", "2", "3"], [r"\boxed{1}", r"\boxed{1}", r"\boxed{3}"]), os.getpid()


@pytest.mark.parametrize("method", [pytest.param("fork", marks=pytest.mark.slow), "spawn"])
def test_from_several_processes_at_once(verifier, method):
    """One verifier handed to three processes, while the parent uses it too: each has workers of its own."""
    verifier.verify("1", "1")
    with multiprocessing.get_context(method).Pool(3) as processes:
        others = processes.map_async(judged_elsewhere, [verifier] * 9)
        own = [judged_elsewhere(verifier) for _ in range(9)]
        found = others.get(timeout=120) + own
    assert {tuple(verdicts) for verdicts, _ in found} == {(Verdict.CORRECT, Verdict.INCORRECT, Verdict.CORRECT)}
    assert len({process for _, process in found}) > 1


HUNGRY = """
import os
from cooper_rl.records import Verification
def explain(reference, completion):
    if completion == "eat":
        held = [bytearray(64 * 2**20) for _ in range(100)]
    return Verification.compared(True, reference, str(os.getpid()))
"""


@pytest.fixture
def hungry(tmp_path, monkeypatch):
    """The import path of a verifier that tells its process, and eats 6 GiB when it is told to."""
    (tmp_path / "hungry_rules.py").write_text(HUNGRY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return "hungry_rules:explain"


def test_a_worker_past_its_memory_limit_says_error_and_the_others_go_on(hungry):
    with RuleVerifier(hungry, workers=1, memory_limit_mb=1024) as rule:
        assert rule.verify_many(["1"] * 3, ["1", "eat", "1"]) == [Verdict.CORRECT, Verdict.ERROR, Verdict.CORRECT]
        (process,) = {v.parsed_answer for v in rule.explain_many(["1"] * 2, ["1", "2"])}
        peak = int(Path(f"/proc/{process}/status").read_text().split("VmPeak:")[1].split()[0])
        assert peak <= 1024 * 1024


def test_workers_are_recycled_and_leave_no_zombie(hungry, monkeypatch):
    monkeypatch.setattr(pool, "RECYCLE_AFTER", 10)
    with RuleVerifier(hungry, workers=1) as rule:
        found = [rule.explain_many(["1"] * 6, ["1"] * 6) for _ in range(6)]
    processes = {int(v.parsed_answer) for batch in found for v in batch}
    assert len(processes) == 3
    assert not any(Path(f"/proc/{process}").exists() for process in processes)


def test_the_exact_path_agrees_with_the_library(verifier):
    rng = random.Random(0)
    numbers = [rng.choice([str(rng.randint(-50, 50)), f"{rng.randint(1, 9)}.{rng.randint(1, 9)}"]) for _ in range(300)]
    answers = [n if rng.random() < 0.5 else rng.choice(numbers) for n in numbers]
    completions = [f"\\boxed{{{answer}}}" for answer in answers]
    with RuleVerifier("math_verify", workers=1) as plain:
        assert verifier.verify_many(numbers, completions) == plain.verify_many(numbers, completions)


def test_no_orphan_when_the_parent_is_killed():
    code = (
        "from cooper_rl.verifiers import RuleVerifier\n"
        "v = RuleVerifier(workers=1)\nv.verify('1', '1')\n"
        "print(v._slots.get().process.pid, flush=True)\nimport time\ntime.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    os.kill(worker, 0)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        stat = Path(f"/proc/{worker}/stat")
        state = stat.read_text().split()[2] if stat.exists() else "gone"
        if state in ("gone", "Z"):
            return
        time.sleep(0.05)
    pytest.fail("the worker outlived its parent")


def test_stream_names_the_bad_line(verifier):
    written: list[str] = []
    lines = ['{"reference": "1", "completion": "1"}', '{"completion": "1"}']
    with pytest.raises(BadInputError, match=r"answers.jsonl:2: field 'reference'"):
        verify_stream(lines, written.append, verifier=verifier, source="answers.jsonl")
    assert '"verdict": "CORRECT"' in written[0]


@pytest.mark.slow
def test_a_killed_verification_resumes_where_its_file_ends(tmp_path):
    """A real process, killed in the middle; the end is as if it had not been."""
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(
        "".join(json.dumps({"reference": str(i), "completion": f"#### {i % 7}"}) + "\n" for i in range(20_000))
    )
    command = [sys.executable, "-m", "cooper_rl.cli", "verify", str(source), "--output", str(output), "--workers", "1"]
    first = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (output.exists() and output.stat().st_size > 20_000):
        time.sleep(0.01)
    first.kill()
    first.wait()
    done = output.read_bytes().count(b"\n")
    assert 0 < done < 20_000
    with output.open("a") as file:
        file.write('{"half": ')
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 2 and "--resume" in refused.stderr
    second = subprocess.run([*command, "--resume"], capture_output=True, text=True)
    assert second.returncode == 0, second.stderr
    records = [json.loads(line) for line in output.open()]
    assert [r["reference"] for r in records] == [str(i) for i in range(20_000)]
    assert "CORRECT 7, INCORRECT 19993" in second.stderr


@pytest.mark.slow
def test_streaming_takes_constant_memory(tmp_path):
    """The peak of the command's own process: ten times the records, the same memory."""
    peaks = []
    for size in (20_000, 200_000):
        source, output = tmp_path / f"{size}.jsonl", tmp_path / f"{size}.out.jsonl"
        with source.open("w") as file:
            file.writelines(json.dumps({"reference": "12", "completion": f"#### {i}"}) + "\n" for i in range(size))
        command = [sys.executable, "-m", "cooper_rl.cli", "verify", str(source), "--output", str(output)]
        process = subprocess.Popen([*command, "--verifier", "exact"], stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0 and output.read_bytes().count(b"\n") == size
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] < peaks[0] + 10, peaks


@pytest.mark.parametrize(
    ("kind", "reference", "completion", "verdict"),
    [
        ("exact", "New York", "The answer is new  york.", "CORRECT"),
        ("exact", "New York", "The answer is York.", "INCORRECT"),
        ("choice", "B", r"So we take \boxed{\text{(B)}}", "CORRECT"),
        ("choice", "B", "Answer: C) 12 apples", "INCORRECT"),
        ("choice", "B", "Answer: both of them", "UNPARSEABLE"),
        ("choice", "B", r"So we take \boxed{\text{option (B)}}", "CORRECT"),
        ("choice", "B", "The answer is Option B: 12", "CORRECT"),
        ("choice", "B", "The answer is (B) or (C)", "UNPARSEABLE"),
        ("reasoning_gym:gcd", "3", "The answer is 3.", "CORRECT"),
        ("reasoning_gym:gcd", '{"answer": "3", "metadata": {}}', "The answer is 4.", "INCORRECT"),
        ("reasoning_gym:gcd", "3", "", "UNPARSEABLE"),
        (f"{__name__}:always_right", "1", "2", "CORRECT"),
    ],
)
def test_other_verifiers(kind, reference, completion, verdict, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    with RuleVerifier(kind.replace("tests.unit.", ""), workers=1) as other:
        assert other.verify(reference, completion) == verdict


def always_right(reference: str, completion: str) -> Verification:
    """A verifier of a user's own: one function."""
    return Verification(Verdict.CORRECT, Reason.MATCH)


def test_unknown_task():
    with pytest.raises(BadInputError, match="no task 'gdc'"):
        RuleVerifier("reasoning_gym:gdc")


def test_unknown_kind():
    with pytest.raises(BadInputError, match="math_verify"):
        RuleVerifier("maths")


def test_reasons_are_all_different():
    assert len({reason.value for reason in Reason}) == len(Reason)


@pytest.mark.parametrize(
    ("completion", "strict", "flexible"),
    [
        ("3 + 4 = 7\n#### 7", "CORRECT", "CORRECT"),
        ("#### 7.", "CORRECT", "CORRECT"),
        ("#### 7\nNo: #### 8", "CORRECT", "INCORRECT"),  # the first, the last
        ("The answer is 7 in 4 weeks.", "UNPARSEABLE", "INCORRECT"),
        ("So $7", "UNPARSEABLE", "CORRECT"),
        ("#### $7", "UNPARSEABLE", "CORRECT"),
        ("#### 7.00", "INCORRECT", "INCORRECT"),  # compared as text
        ("", "UNPARSEABLE", "UNPARSEABLE"),
    ],
)
def test_the_two_readings_of_the_evaluation_harness(completion, strict, flexible):
    assert explain_gsm8k_strict("7", completion).verdict == strict
    assert explain_gsm8k_flexible("7", completion).verdict == flexible


def test_the_harness_reads_numbers_without_commas():
    assert explain_gsm8k_strict("1,000", "#### 1000").verdict == "CORRECT"
    assert explain_gsm8k_strict("work\n#### 1000", "#### 1,000").verdict == "CORRECT"
    assert explain_gsm8k_flexible(" ", "5").verdict == "UNPARSEABLE"


@pytest.mark.parametrize("kind", ["math", "math_verify", "exact", "gsm8k_strict", "choice"])
def test_whatever_the_verifier_it_says_whether_there_are_several_answers(kind):
    completions = ["The answer is 7 or 8.", r"\boxed{7}, no, \boxed{8}", r"\boxed{7}, so \boxed{7.0}", "#### 7", ""]
    with RuleVerifier(kind, workers=1) as rule:
        found = rule.explain_many(["7"] * 5, completions)
    assert [v.several_answers for v in found] == [True, True, False, False, False]


def test_nothing_is_said_of_several_answers_where_there_is_no_verdict(hungry):
    with RuleVerifier(hungry, workers=1, memory_limit_mb=1024) as rule:
        found = rule.explain_many(["1"] * 2, ["The answer is 7 or 8.", "eat"])
    assert [v.several_answers for v in found] == [True, False]


def blunt(reference, completion):
    """A verifier of few words: what is not the reference is INCORRECT."""
    return Verification.compared(reference == completion, reference, completion)


def judge(explain, reference, completion):
    return worker.judge(explain, complete_of(explain), reference, completion)


def test_a_verifier_may_say_itself_how_an_answer_is_read():
    def own(reference, completion):
        return blunt(reference, completion)

    own.complete = lambda found, reference, completion: replace(found, answer=f"<{completion}>")
    assert judge(own, "7", "7").answer == "<7>" and judge(blunt, "7", "7").answer == "7"
    own.complete = lambda found, reference, completion: found.no_such_field
    assert judge(own, "7", "7").verdict == "ERROR"


@pytest.mark.parametrize("text", ["", "So the answer is", r"\boxed{}"])
def test_no_answer_is_found_whatever_the_verifiers_words(text):
    found = judge(blunt, "7", text)
    assert (found.verdict, found.reason, found.answer) == ("INCORRECT", "no_answer", None)
    assert found.surely_wrong and not found.doubtful
    word = judge(blunt, "uncle", "It is my aunt")
    assert word.reason == "mismatch" and word.surely_wrong and word.doubtful


def test_answers_are_compared_in_one_writing():
    writings = [r"\boxed{\frac{1}{2}}", "The answer is 0.5.", r"#### $\dfrac12$", "so 1/2", "The answer is 50%."]
    assert {judge(blunt, "7", text).answer for text in writings[:3]} == {"1/2"}
    assert judge(blunt, "7", writings[4]).answer == "1/2"
    assert judge(blunt, "x", r"\boxed{ (A) }").answer == judge(blunt, "x", "The answer is (a)").answer == "(a)"
    assert judge(blunt, "x", "5 m").answer != judge(blunt, "x", "5").answer == "5"
    several = judge(blunt, "7", r"\boxed{7}, no, \boxed{8}")
    assert several.answer is None and several.several_answers and several.surely_wrong and not several.doubtful


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("reason", Reason)
def test_what_is_surely_wrong(verdict, reason):
    no_answer = (verdict, reason) == ("UNPARSEABLE", "no_answer")
    assert Verification(verdict, reason).surely_wrong is (verdict == "INCORRECT" or no_answer)
    assert Verification(verdict, reason).doubtful is (verdict == "INCORRECT" and reason == "mismatch")
    assert not Verification(verdict, reason, several_answers=True).doubtful


@pytest.mark.parametrize(
    ("reference", "completion", "unread"),
    [
        ("10", "The answer is 10 plus the original amount.", "10 plus the original amount"),
        ("x = 3", r"\boxed{y = 3}", "y ="),
        ("f'(x) = 2x", r"\boxed{f(x) = 2x}", "f(x) ="),
        ("5", r"\boxed{x^2 = 5}", "x^2"),
        ("5 km", r"\boxed{5 \text{ blocks}}", "blocks"),
        ("5", r"So it is at least $5$.", "least"),
    ],
)
def test_what_was_left_unread_is_shown(verifier, reference, completion, unread):
    found = verifier.explain(reference, completion)
    assert found.verdict is Verdict.UNPARSEABLE and found.unread == unread


def test_what_was_read_whole_has_nothing_unread(verifier):
    assert verifier.explain("5 km", r"\boxed{5000 \text{ m}}").unread is None


def test_the_units_are_those_of_pint():
    """Of pint's definitions only some are loaded, which must change no factor and no dimension."""
    whole = pint.UnitRegistry(non_int_type=Fraction)
    names = {units._SPELLINGS.get(name, name) for name in (*units._NAMES.values(), *units._SIGNS.values())}
    known = sorted(name for name in names - {*units._CALENDAR} if "dollar" not in name and name != "cent")
    known = [name for name in known if "molar" not in name and name not in units.CURRENCIES.values()]
    assert len(known) > 300
    for name in known:
        factor, root = whole.get_root_units(name, check_nonmult=False)
        found = units.measure(name)
        assert found.factor == factor
        assert found.dimension in ("angle", frozenset(root.dimensionality.items()))
    assert units.measure("degF").offset == Fraction(45967, 180)


def test_the_first_unit_is_not_late():
    """pint takes half a second to load, which counts against no item's deadline."""
    with RuleVerifier(deadline_seconds=0.7, workers=1) as verifier:
        assert verifier.verify("1 km", r"\boxed{1000 \text{ m}}") is Verdict.CORRECT


def test_a_long_text_with_a_number_is_not_searched_for_words(calls_of):
    text = "We add the two numbers and carry the one. " * 200 + "So it is 7"
    assert has_answer(text, "8") and calls_of("search", has_answer, text, "8") == 0
    assert has_answer("It is seven", "8") and has_answer("x = y", "8") and not has_answer("...", "8")
