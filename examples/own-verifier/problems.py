"""Writes the problems of this example: sums of two numbers of two digits.

python examples/own-verifier/problems.py runs/own-verifier
"""

import json
import random
import sys
from pathlib import Path


def main(folder: Path) -> None:
    """Writes problems.jsonl to train on, and heldout.jsonl with other sums to measure on."""
    sums = [(left, right) for left in range(10, 100) for right in range(10, 100)]
    random.Random(0).shuffle(sums)
    folder.mkdir(parents=True, exist_ok=True)
    for name, chosen in (("problems", sums[:500]), ("heldout", sums[500:1000])):
        with (folder / f"{name}.jsonl").open("w") as file:
            for left, right in chosen:
                question = f"State the final answer to the following arithmetic problem: {left} + {right} ="
                file.write(json.dumps({"question": question, "reference_answer": str(left + right)}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
