"""The contract of a domain, as checks that its author can run: `check_domain(MyDomain())` in a test."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import combinations

from cooper_rl.domains.domain import Domain
from cooper_rl.errors import BadInputError
from cooper_rl.records import Problem, Verdict
from cooper_rl.verifiers import RuleVerifier

NO_SPLIT = "no such split"
DEADLINE_SECONDS = 60.0  # for one answer; long, since the verdict is tested and not the speed of the machine
Same = Callable[[Problem, Problem], bool] | None


def boxed(answer: str) -> str:
    """A completion that states an answer in a box, which the rule verifiers can read."""
    return f"So the answer is \\boxed{{{answer}}}."


def check_domain(
    domain: Domain,
    *,
    size: int = 40,
    seed: int = 0,
    state: Callable[[str], str] = boxed,
    rule: bool = True,
    same: Same = None,
) -> None:
    """Runs every check of this module on each split of the domain, or on `train` if the domain has no splits.

    Args:
        size: this many problems of each split are checked.
        seed: problems are drawn with this seed.
        state: writes an answer as a completion that the domain's truth and verifier can read.
        same: whether two problems have one answer, where it may have several writings. Without it answers are the same
            that have the same text, or are the same number.
        rule: False skips the check of the domain's verifier, for a domain whose answers no rule can read.

    Raises:
        AssertionError: the domain breaks its contract; the message says how.
    """
    found = {split: domain.problems(split, size, seed) for split in domain.splits or ("train",)}
    for split, problems in found.items():
        domain.check(split)
        check_problems_of(domain, split, problems, size)
        check_draws(domain, split, problems, size, seed)
        if domain.has_truth:
            check_truth(domain, problems, state, same)
        if rule:
            check_rule(domain, problems, state, same)
    check_splits(domain, found)


def check_problems_of(domain: Domain, split: str, problems: Sequence[Problem], size: int) -> None:
    """Checks that there are 1 to `size` problems, each with a question, an answer and an id of its own."""
    where = f"{domain.name}, {split}"
    _require(0 < len(problems) <= size, f"{where}: {len(problems)} problems where {size} were asked for")
    for problem in problems:
        _require(bool(problem.question.strip()), f"{where}: a question is blank: {problem}")
        _require(bool(problem.reference_answer.strip()), f"{where}: an answer is blank: {problem}")
        _require(bool(problem.problem_id), f"{where}: a problem has no id: {problem}")
    ids = {problem.problem_id for problem in problems}
    _require(len(ids) == len(problems), f"{where}: two problems have one id")


def check_draws(domain: Domain, split: str, problems: Sequence[Problem], size: int, seed: int) -> None:
    """Checks that the same seed gives the same problems, without using or changing Python's global random state."""
    where = f"{domain.name}, {split}"
    random.seed(1)
    before = random.getstate()
    again = domain.problems(split, size, seed)
    _require(random.getstate() == before, f"{where}: drawing problems changes Python's global random state")
    _require(list(again) == list(problems), f"{where}: seed {seed} gave other problems the second time")


def check_splits(domain: Domain, found: dict[str, list[Problem]]) -> None:
    """Checks that no question is in two splits, and that an unknown split is refused with a one-line error."""
    for one, other in combinations(found, 2):
        shared = {p.question for p in found[one]} & {p.question for p in found[other]}
        _require(not shared, f"{domain.name}: splits {one} and {other} share a question: {sorted(shared)[:1]}")
    if not domain.splits:
        return
    for ask in (lambda: domain.check(NO_SPLIT), lambda: domain.problems(NO_SPLIT, 1, 0)):
        try:
            ask()
        except BadInputError as error:
            _require("\n" not in str(error), f"{domain.name}: the error about an unknown split has several lines")
        else:
            _require(False, f"{domain.name}: a split {NO_SPLIT!r} is not refused with a BadInputError")


def check_truth(domain: Domain, problems: Sequence[Problem], state: Callable[[str], str], same: Same = None) -> None:
    """Checks that `is_true` accepts the reference answer, with or without the worked solution, and no other answer."""
    for problem, other in _with_another_answer(problems, same):
        right = state(problem.reference_answer)
        solution = str(problem.metadata.get("worked_solution", ""))
        for text in (right, f"{solution} {right}".strip()):
            _require(domain.is_true(problem, text) is True, f"{domain.name}: is_true rejects {text!r} for {problem}")
        for text in (state(other), ""):
            accepted = domain.is_true(problem, text) is True
            _require(not accepted, f"{domain.name}: is_true accepts {text!r}, a wrong answer, for {problem}")


def check_rule(domain: Domain, problems: Sequence[Problem], state: Callable[[str], str], same: Same = None) -> None:
    """Checks that the domain's verifier says CORRECT of the reference answer, and not of another problem's answer."""
    pairs = _with_another_answer(problems, same)
    references = [problem.reference_answer for problem, _ in pairs]
    with RuleVerifier(domain.verifier, workers=1, deadline_seconds=DEADLINE_SECONDS) as verifier:
        own = verifier.verify_many(references, [state(reference) for reference in references])
        others = verifier.verify_many(references, [state(other) for _, other in pairs])
    for (problem, other), right, wrong in zip(pairs, own, others, strict=True):
        _require(right is Verdict.CORRECT, f"{domain.name}: {domain.verifier} says {right} of the answer of {problem}")
        said = f"{domain.name}: {domain.verifier} says CORRECT of {other!r}, where the answer is that of {problem}"
        _require(wrong is not Verdict.CORRECT, said)


def _with_another_answer(problems: Sequence[Problem], same: Same) -> list[tuple[Problem, str]]:
    """(problem, another problem's different answer) for each problem; left out if all problems have the same answer."""
    pairs = []
    for index, problem in enumerate(problems):
        later = [*problems[index + 1 :], *problems[:index]]
        others = [p for p in later if same is None or not same(p, problem)]
        different = (p.reference_answer for p in others if _differ(p.reference_answer, problem.reference_answer))
        if (other := next(different, None)) is not None:
            pairs.append((problem, other))
    return pairs


def _differ(one: str, other: str) -> bool:
    try:
        return float(one) != float(other)
    except ValueError:
        return one.strip().casefold() != other.strip().casefold()


def _require(kept: bool, broken: str) -> None:
    """As the statement `assert`, but also active under `python -O`."""
    if not kept:
        raise AssertionError(broken)
