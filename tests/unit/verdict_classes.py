"""All classes of cases for the verdicts of `math`. As a script it shows what each class leaves wrong.

python tests/unit/verdict_classes.py                     # one line a class, up to 3 examples of each fault
python tests/unit/verdict_classes.py --examples 10 letter_case primes
"""

from __future__ import annotations

import argparse

import verdict_formulas
import verdict_marks
import verdict_numbers
import verdict_prose
import verdict_units
from verdict_cases import CLASSES, RIGHT, Case, cases_of

from cooper_rl.records import Verdict
from cooper_rl.verifiers.math.verifier import explain

SUBJECTS = (verdict_numbers, verdict_units, verdict_formulas, verdict_marks, verdict_prose)  # they register themselves
FALSE_INCORRECT, FALSE_CORRECT, LEFT_OPEN = FAULTS = "right called INCORRECT", "wrong called CORRECT", "right left open"
NO_VERDICT = "no verdict"


def faults_of(name: str) -> list[tuple[str, Case]]:
    """What is wrong with the verdicts on a class: a fault and the case that has it."""
    found = []
    for case in cases_of(name):
        verdict = explain(case[0], case[1]).verdict
        if verdict not in case[2]:
            fault = {Verdict.INCORRECT: FALSE_INCORRECT, Verdict.CORRECT: FALSE_CORRECT, Verdict.UNPARSEABLE: LEFT_OPEN}
            found.append((fault.get(verdict, NO_VERDICT), case))
    return found


def shown(fault: str, case: Case) -> str:
    """A case as a line of the report."""
    reference, completion, _ = case
    return f"    {fault}: reference {reference!r}, completion {completion!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("classes", nargs="*", help="names of classes; all if none is named")
    parser.add_argument("--examples", type=int, default=3, help="of each fault")
    arguments = parser.parse_args()
    print(f"{'class':32} cases must be CORRECT | " + " | ".join(FAULTS))
    totals = [0] * (2 + len(FAULTS))
    for name in arguments.classes or CLASSES:
        items, faults = cases_of(name), faults_of(name)
        by_fault = {fault: [case for found, case in faults if found == fault] for fault in (*FAULTS, NO_VERDICT)}
        row = [len(items), sum(case[2] == RIGHT for case in items), *(len(by_fault[fault]) for fault in FAULTS)]
        totals = [total + number for total, number in zip(totals, row, strict=True)]
        print(f"{name:32} " + " ".join(f"{number:5}" for number in row), flush=True)
        for fault, found in by_fault.items():
            print("".join(shown(fault, case) + "\n" for case in found[: arguments.examples]), end="")
    print(f"{'all':32} " + " ".join(f"{number:5}" for number in totals))


if __name__ == "__main__":
    main()
