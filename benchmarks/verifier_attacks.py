"""Attacks on the rule verifiers: texts that look like the right answer and state another one, or none.

    COOPER_DATA_DIR=<folder of local copies> python benchmarks/verifier_attacks.py --mistakes FILE

Right answers of GSM8K and MATH (train) are changed in three ways: a word that matters is added, dropped or changed; a
mark that matters is changed; a box of the right answer is hidden, withdrawn or quoted. A change that could keep the
value is left out: values are computed here, without the verifiers, and words that the question has are not used.
CORRECT is a mistake, always. INCORRECT and left open are both allowed. Intervals: Wilson, 95 %.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from verifier_attack_changes import ATTACKS, Item, value_of
from verifier_figures import share

from cooper_rl.domains import load_problems
from cooper_rl.records import Problem, Verdict
from cooper_rl.verifiers import RuleVerifier

DRAWS = 3000  # references that are drawn for one try before its change is given up


@dataclass(frozen=True)
class Try:
    """A text that does not state the reference, and by which change it was made."""

    attack: str
    change: str
    reference: str
    completion: str


def items_of(problems: list[Problem]) -> list[Item]:
    """The right answers, with their values."""
    return [Item(p.reference_answer, value_of(p.reference_answer), p.question) for p in problems]


def tries_of(items: list[Item], count: int, seed: int) -> list[Try]:
    """So many different tries, an attack after the other, and each attack's changes in turn."""
    rng, found = random.Random(seed), dict[tuple[str, str], Try]()
    spent: set[tuple[str, str]] = set()
    turn = 0
    while len(found) < count and len(spent) < sum(map(len, ATTACKS.values())):
        attack = [*ATTACKS][turn % len(ATTACKS)]
        change = [*ATTACKS[attack]][turn // len(ATTACKS) % len(ATTACKS[attack])]
        turn += 1
        for _ in range(DRAWS if (attack, change) not in spent else 0):
            item = rng.choice(items)
            made = ATTACKS[attack][change](item, rng)
            if made is None:
                continue
            reference, completion = made if isinstance(made, tuple) else (item.reference, made)
            if (reference, completion) not in found:
                found[reference, completion] = Try(attack, change, reference, completion)
                break
        else:
            spent.add((attack, change))
    return [*found.values()]


def row(name: str, kind: str, verdicts: list[Verdict]) -> str:
    counts = Counter(verdicts)
    cells = [name, kind, f"{len(verdicts):,}"]
    cells += [share(counts[verdict], len(verdicts)) for verdict in (Verdict.CORRECT, Verdict.INCORRECT)]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=5000, help="of all three attacks together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verifiers", default="math,math_verify")
    parser.add_argument("--mistakes", type=Path, help="write the tries that are CORRECT here, of each verifier")
    arguments = parser.parse_args()
    problems = [*load_problems("gsm8k", split="train"), *load_problems("math", split="train")]
    tries = tries_of(items_of(problems), arguments.tries, arguments.seed)
    print("| attack | verifier | tries | CORRECT | INCORRECT |\n" + "|---" * 5 + "|")
    mistakes, changes = [], []
    for kind in arguments.verifiers.split(","):
        with RuleVerifier(kind, workers=1, deadline_seconds=60) as verifier:  # so that a busy machine changes nothing
            verdicts = verifier.verify_many([t.reference for t in tries], [t.completion for t in tries])
        for name in ATTACKS:
            print(row(name, kind, [v for t, v in zip(tries, verdicts, strict=True) if t.attack == name]))
        print(row("together", kind, verdicts), flush=True)
        tried = Counter((t.attack, t.change) for t in tries)
        hits = [t for t, verdict in zip(tries, verdicts, strict=True) if verdict is Verdict.CORRECT]
        for (attack, change), number in Counter((t.attack, t.change) for t in hits).most_common():
            changes.append(f"{kind}, {attack}, {change}: {number} of {tried[attack, change]} CORRECT")
        mistakes += [{"verifier": kind, **vars(t)} for t in hits]
    print("\n".join(["", *changes]))
    if arguments.mistakes:
        arguments.mistakes.write_text("".join(json.dumps(record) + "\n" for record in mistakes))


if __name__ == "__main__":
    main()
