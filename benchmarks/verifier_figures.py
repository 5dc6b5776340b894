"""Both errors of the rule verifiers on labelled answers: right ones called INCORRECT, and wrong ones called CORRECT.

    COOPER_DATA_DIR=<folder of local copies> python benchmarks/verifier_figures.py

Sets: the hard ones of the verifier folder; completions of models (labelled by other rules, whose mistakes count
against ours); and a generated one: GSM8K and MATH train references in other dress and forms (right), and with a
number, sign or item changed (wrong). What is neither CORRECT nor INCORRECT is left open. Precision: of those found
CORRECT, how many are labelled so. Intervals: Wilson, 95 %.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
from collections import Counter
from pathlib import Path

from cooper_rl.domains import load_problems
from cooper_rl.intervals import wilson
from cooper_rl.records import Verdict
from cooper_rl.verifiers import RuleVerifier

Item = tuple[str, str, bool]  # reference, completion, label
SAID = (Verdict.CORRECT, Verdict.INCORRECT)
CLOSINGS = (r"\boxed{{{}}}", "The answer is ${}$.", "#### {}", "{}")
_NUMBER = re.compile(r"(?<![\w.\\])\d+(?:\.\d+)?")


def from_file(path: Path, limit: int) -> list[Item]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    records = [json.loads(line) for line in text.splitlines()]
    items = [(r["answer"], r["completion"], bool(r["correct"])) for r in records if r["answer"]]
    return random.Random(0).sample(items, min(limit, len(items)))


def other_dress(reference: str, rng: random.Random) -> str:
    """The same answer as others write it."""
    text = reference.replace("\\frac", rng.choice(["\\frac", "\\dfrac", "\\tfrac"]))
    text = (
        text.replace("(", "\\left(").replace(")", "\\right)") if rng.random() < 0.5 and "\\left" not in text else text
    )
    text = text.replace(", ", rng.choice([",", ",\\ ", ", "]))
    if re.fullmatch(r"\d{4,}", text):
        text = rng.choice([f"{int(text):,}", f"{int(text):,}".replace(",", "{,}"), text])
    elif re.fullmatch(r"-?\d+", text):
        text = rng.choice([f"{text}.0", f"{text}.00", f"x = {text}", f"{2 * int(text)}/2", rf"{text}\text{{ units}}"])
    return text


def near_miss(reference: str, rng: random.Random) -> str | None:
    """Another answer that looks alike: one number changed, the sign turned, or the last item dropped."""
    numbers = list(_NUMBER.finditer(reference))
    ways = []
    if numbers:
        found = rng.choice(numbers)
        value = found.group()
        other = str(float(value) + 1) if "." in value else str(int(value) + rng.choice([1, 2, 10]))
        ways.append(reference[: found.start()] + other + reference[found.end() :])
    if re.fullmatch(r"-?[\d./]+", reference) and not re.fullmatch(r"-?0+", reference):
        ways.append(reference[1:] if reference.startswith("-") else f"-{reference}")
    if reference.count(",") and re.fullmatch(r"[-\d, ]+", reference) and ", " in reference:
        ways.append(reference.rpartition(",")[0])
    return rng.choice(ways) if ways else None


def generated(count: int) -> list[Item]:
    """Half right in another dress, half near misses."""
    rng = random.Random(0)
    problems = [*load_problems("gsm8k", split="train"), *load_problems("math", split="train")]
    items: list[Item] = []
    while len(items) < count:
        reference = rng.choice(problems).reference_answer
        closing = rng.choice(CLOSINGS)
        if rng.random() < 0.5:
            items.append((reference, closing.format(other_dress(reference, rng)), True))
        elif (wrong := near_miss(reference, rng)) is not None:
            items.append((reference, closing.format(wrong), False))
    return items


def share(hits: int, count: int) -> str:
    """A share with its 95 % interval."""
    return "{:.3f} ({:.3f}-{:.3f})".format(hits / count, *wilson(hits, count)) if count else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=3000, help="records of each set")
    parser.add_argument("--mistakes", type=Path, help="write every disagreement with a label here")
    arguments = parser.parse_args()
    folder = Path(os.environ["COOPER_DATA_DIR"])
    sets = {path.name: from_file(path, arguments.limit) for path in sorted(folder.glob("verifier/*_dev.jsonl"))}
    sets |= {path.name: from_file(path, arguments.limit) for path in sorted(folder.glob("labelled/*.jsonl.gz"))}
    sets["generated from GSM8K and MATH"] = generated(arguments.limit)
    mistakes, lost = [], []
    print(
        "| set | verifier | right | CORRECT | INCORRECT | wrong | INCORRECT | CORRECT | precision |\n"
        + "|---" * 9
        + "|"
    )
    for name, items in sets.items():
        right_by_library = [False] * len(items)
        for kind in ("math_verify", "math"):
            with RuleVerifier(kind, deadline_seconds=60) as verifier:  # so that a busy machine changes nothing
                verdicts = verifier.verify_many([i[0] for i in items], [i[1] for i in items])
            hits = [verdict is Verdict.CORRECT for verdict in verdicts]
            counts = Counter((item[2], verdict) for item, verdict in zip(items, verdicts, strict=True))
            cells = [name, kind]
            for label, order in ((True, SAID), (False, SAID[::-1])):
                count = sum(item[2] is label for item in items)
                cells += [str(count), *(share(counts[label, verdict], count) for verdict in order)]
            cells.append(share(counts[True, Verdict.CORRECT], sum(hits)))
            print("| " + " | ".join(cells) + " |", flush=True)
            right = [hit == item[2] for hit, item in zip(hits, items, strict=True)]
            if kind == "math_verify":
                right_by_library = right
                continue
            for item, verdict, ours, theirs in zip(items, verdicts, right, right_by_library, strict=True):
                record = {"set": name, "reference": item[0], "completion": item[1], "label": item[2]}
                if not ours:
                    mistakes.append({**record, "verdict": verdict.value, "math_verify": "right" if theirs else "wrong"})
                    lost += [name] if theirs else []
    print(f"right by math_verify and wrong by math: {dict(Counter(lost))}")
    if arguments.mistakes:
        arguments.mistakes.write_text("".join(json.dumps(record) + "\n" for record in mistakes))


if __name__ == "__main__":
    main()
