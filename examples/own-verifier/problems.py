"""Writes the problems of this example: products of a two-digit and a one-digit number.

python examples/own-verifier/problems.py runs/own-verifier
"""

import json
import random
import sys
from pathlib import Path


def main(folder: Path) -> None:
    """Writes problems.jsonl to train on, and heldout.jsonl with other products to measure on."""
    products = [(left, right) for left in range(11, 100) for right in range(2, 10)]
    random.Random(0).shuffle(products)
    folder.mkdir(parents=True, exist_ok=True)
    for name, chosen in (("problems", products[:500]), ("heldout", products[500:])):
        with (folder / f"{name}.jsonl").open("w") as file:
            for left, right in chosen:
                question = f"Solve the following multiplication: {left} * {right}. Give only the result as your final answer."
                file.write(json.dumps({"question": question, "reference_answer": str(left * right)}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
