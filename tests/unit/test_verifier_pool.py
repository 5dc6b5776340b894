"""The pool inside other programs: asyncio, many open files, changed paths, killed workers, input that is no input."""

import asyncio
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cooper_rl import RuleVerifier
from cooper_rl.errors import BadInputError
from cooper_rl.records import Verdict
from cooper_rl.verifiers import pipe
from cooper_rl.verifiers.pipe import Worker

RULES = """
import os, time
from cooper_rl.records import Verification
def explain(reference, completion):
    if completion == "sleep":
        time.sleep(60)
    time.sleep(0.05)
    return Verification.compared(reference == completion, reference, str(os.getpid()))
"""


@pytest.fixture(scope="module")
def verifier():
    with RuleVerifier("exact", workers=2) as rule:
        yield rule


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """A verifier that takes a moment, tells its process, and sleeps for a minute when it is told to."""
    (tmp_path / "slow_rules.py").write_text(RULES)
    monkeypatch.syspath_prepend(str(tmp_path))  # not in PYTHONPATH: a worker finds what its parent finds
    return "slow_rules:explain"


def numbers(count):
    return [str(i) for i in range(count)], [str(i if i % 3 else i + 1) for i in range(count)]


def test_many_for_asyncio_in_the_order_of_the_arguments(verifier):
    references, completions = numbers(200)

    async def both():
        verdicts = verifier.averify_many(references, completions)
        return await asyncio.gather(verdicts, verifier.aexplain_many([("9", r) for r in references], completions))

    verdicts, found = asyncio.run(both())
    assert verdicts == verifier.verify_many(references, completions)
    assert found == verifier.explain_many([("9", r) for r in references], completions)
    assert {verdict.value for verdict in verdicts} == {"CORRECT", "INCORRECT"}
    assert asyncio.run(verifier.aexplain("1", "1")) == verifier.explain("1", "1")


def test_the_event_loop_goes_on_while_workers_judge(slow):
    async def ticking():
        with RuleVerifier(slow, workers=1) as rule:
            await rule.averify("1", "1")  # which starts the worker
            judging = asyncio.ensure_future(rule.averify_many(["1"] * 10, ["1"] * 10))
            ticks = 0
            while not judging.done():
                await asyncio.sleep(0.01)
                ticks += 1
            return ticks, await judging

    ticks, verdicts = asyncio.run(ticking())
    assert ticks > 10 and verdicts == [Verdict.CORRECT] * 10


def test_what_is_cancelled_is_not_begun(slow):
    async def cancelled():
        with RuleVerifier(slow, workers=1) as rule:
            await rule.averify("1", "1")
            started = time.monotonic()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(rule.averify_many(["1"] * 1000, ["1"] * 1000), 0.2)
            assert await rule.averify("2", "2") is Verdict.CORRECT
            return time.monotonic() - started

    assert asyncio.run(cancelled()) < 20  # the batch that was begun takes 3.2 s; all of them would take 50


def test_a_deadline_from_many_threads_at_once(slow):
    completions = ["1", "sleep", "1", "2"] * 2
    with RuleVerifier(slow, workers=2, deadline_seconds=1) as rule, ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda completion: rule.verify("1", completion), completions))
    assert [verdict.value for verdict in found] == ["CORRECT", "TIMEOUT", "CORRECT", "INCORRECT"] * 2


def test_a_batch_has_a_limit_and_what_is_left_is_not_judged(slow):
    with RuleVerifier(slow, workers=2, deadline_seconds=2, batch_seconds=3) as rule:
        rule.verify_many(["a", "b"], ["a", "b"])  # both workers have started
        started = time.monotonic()
        found = rule.explain_many([str(i) for i in range(40)], ["sleep"] * 40)
        took = time.monotonic() - started
        again = rule.verify_many(["1", "2"], ["1", "3"])
    assert {each.verdict for each in found} == {Verdict.TIMEOUT}
    assert not any(each.surely_wrong for each in found)
    assert took < 15, "40 hanging items of 2 s on 2 workers take 40 s without a limit"
    assert again == [Verdict.CORRECT, Verdict.INCORRECT], "each call has a limit of its own"


def test_a_reference_that_hangs_three_times_is_not_asked_again(slow):
    with RuleVerifier(slow, workers=1, deadline_seconds=0.5, batch_seconds=60) as rule:
        started = time.monotonic()
        found = rule.verify_many(["a"] * 30 + ["z"] * 5, ["sleep"] * 30 + ["z"] + ["sleep"] * 3 + ["z"])
        took = time.monotonic() - started
    assert found[:30] == [Verdict.TIMEOUT] * 30
    assert found[30:] == [Verdict.CORRECT, *[Verdict.TIMEOUT] * 3, Verdict.CORRECT], "this one was judged in time"
    assert took < 15, "30 hanging items take half a second each, and a worker after each"


@pytest.mark.parametrize(("ranks", "most"), [(None, 2), ("2", 1), ("8", 1)])
def test_no_more_workers_start_at_a_time_than_there_are_cores(tmp_path, monkeypatch, ranks, most):
    """Ranks of a machine share its cores."""
    if ranks:
        monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
    starts = tmp_path / "starts"
    (tmp_path / "counting_rules.py").write_text(
        "import os, time\nfrom cooper_rl.records import Verification\n"
        f"starts = os.open({str(starts)!r}, os.O_CREAT | os.O_APPEND | os.O_WRONLY)\n"
        "os.write(starts, b'+'); time.sleep(0.3); os.write(starts, b'-')\n"
        "def explain(reference, completion):\n    return Verification.compared(True, reference, completion)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with RuleVerifier("counting_rules:explain", workers=6) as rule:
        assert rule.verify_many(["1"] * 6, ["1"] * 6) == [Verdict.CORRECT] * 6
    at_once = [starts.read_text()[:end].count("+") - starts.read_text()[:end].count("-") for end in range(13)]
    assert max(at_once) == most


def test_a_worker_that_starts_too_slowly_says_so_and_not_a_warning(tmp_path, monkeypatch):
    (tmp_path / "sleepy_rules.py").write_text("import time, warnings\nwarnings.warn('look out')\ntime.sleep(60)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(pipe, "START_SECONDS", 3.0)
    with RuleVerifier("sleepy_rules:explain", workers=1) as rule, pytest.raises(BadInputError) as error:
        rule.verify("1", "1")
    assert str(error.value).endswith("it did not start in 3 s")


def test_in_a_program_with_more_than_a_thousand_open_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip("this system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with RuleVerifier("exact", workers=1) as rule:
            assert rule.verify("1", "1") is Verdict.CORRECT
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_worker_that_was_killed_while_idle_costs_no_verdict(slow):
    with RuleVerifier(slow, workers=1) as rule:
        process = int(rule.explain("1", "1").parsed_answer)
        os.kill(process, signal.SIGKILL)
        time.sleep(0.2)
        found = rule.explain("1", "1")
    assert found.verdict is Verdict.CORRECT and int(found.parsed_answer) != process


def test_after_an_error_no_answer_is_taken_for_anothers(verifier, monkeypatch):
    """What a batch that broke off had still to answer must not be read as the answers of the next one."""
    receive, calls = Worker.receive, []

    def broken(worker, seconds):
        calls.append(worker)
        if len(calls) == 2:
            raise RuntimeError("broken")
        return receive(worker, seconds)

    with RuleVerifier("exact", workers=1) as rule:
        rule.verify("1", "1")
        monkeypatch.setattr(Worker, "receive", broken)
        with pytest.raises(RuntimeError, match="broken"):
            rule.verify_many(["1"] * 4, ["1"] * 4)
        assert rule.verify_many(["1"] * 3, ["2"] * 3) == [Verdict.INCORRECT] * 3


def in_threads(verifier):
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda i: verifier.explain("1", "1").parsed_answer, range(12)))
    return set(found)


def test_threads_of_a_fork_share_workers_of_their_own(slow):
    with RuleVerifier(slow, workers=1) as rule:
        own = rule.explain("1", "1").parsed_answer
        with multiprocessing.get_context("fork").Pool(1) as processes:
            (forks,) = processes.map(in_threads, [rule])
        assert len(forks) == 1 and own not in forks
        assert rule.explain("1", "1").parsed_answer == own


def fork_and_ask(rule):
    process = os.fork()
    if process == 0:
        os._exit(0 if in_threads(rule).isdisjoint({rule.told}) and len(in_threads(rule)) == 1 else 1)
    return os.waitpid(process, 0)[1]


def test_a_verifier_that_a_fork_inherits_starts_its_workers_once(slow):
    with RuleVerifier(slow, workers=1) as rule:
        rule.told = rule.explain("1", "1").parsed_answer
        assert fork_and_ask(rule) == 0
        assert rule.explain("1", "1").parsed_answer == rule.told


def test_a_worker_finds_the_package_where_its_parent_found_it(tmp_path):
    """A program may add the package's folder to its path by itself, as Ray does with a working directory."""
    source = Path(__file__).parents[2] / "src"
    (tmp_path / "linked").symlink_to(source)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'linked')!r})\n"
        "from cooper_rl import RuleVerifier\n"
        "with RuleVerifier('exact', workers=1) as rule: print(rule.verify('1', '1'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.stdout.strip() == "CORRECT", done.stderr


@pytest.mark.parametrize(
    ("references", "completions", "message"),
    [
        (["1"], ["1", "2"], "1 references for 2 completions; give one for each"),
        ("12", ["1", "2"], "references: give a list with an item for each completion, not str"),
        (["1"], "1", "completions: give a list with an item for each completion, not str"),
        (None, ["1"], "references: give a list with an item for each completion, not NoneType"),
        (["1", None], ["1", "2"], "references: item 1 is of type NoneType; give a text"),
        ([["1", "2"], ["1", {}]], ["1", "2"], "references: item 1 is of type dict; give a text"),
        (["1", []], ["1", "2"], "references: item 1 has no text"),
        (["1", "2"], ["1", ["2"]], "completions: item 1 is of type list; give a text"),
        (["1"], [b"1"], "completions: item 0 is of type bytes; give a text"),
    ],
)
def test_input_that_is_none_is_refused_in_one_line(verifier, references, completions, message):
    with pytest.raises(BadInputError) as refused:
        verifier.verify_many(references, completions)
    assert str(refused.value) == message
    with pytest.raises(BadInputError) as refused:
        asyncio.run(verifier.averify_many(references, completions))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"workers": 0}, "workers: give a whole number of at least 1, not 0"),
        ({"workers": 1.5}, "workers: give a whole number of at least 1, not 1.5"),
        ({"memory_limit_mb": -1}, "memory_limit_mb: give a whole number of at least 1, not -1"),
        ({"deadline_seconds": 0}, "deadline_seconds: give a number of seconds above 0, not 0"),
        ({"deadline_seconds": float("nan")}, "deadline_seconds: give a number of seconds above 0, not nan"),
        ({"deadline_seconds": "5"}, "deadline_seconds: give a number of seconds above 0, not '5'"),
        ({"kind": "no_such_module:explain"}, "cannot be loaded in a worker process: ModuleNotFoundError"),
    ],
)
def test_limits_with_which_nothing_can_be_judged(limits, message):
    with pytest.raises(BadInputError) as refused, RuleVerifier(**limits) as rule:
        rule.verify("1", "1")
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_no_thread_is_left_behind(verifier):
    before = {thread for thread in threading.enumerate() if thread.name.startswith("rule-verifier")}
    with RuleVerifier("exact", workers=2) as rule:
        rule.verify_many(["1"] * 200, ["1"] * 200)
    left = {thread for thread in threading.enumerate() if thread.name.startswith("rule-verifier")} - before
    assert not left
