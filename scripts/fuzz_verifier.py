"""Coverage-guided fuzzing of the rule verifier's front: where an answer is, its markup, its form.

    pip install atheris && python scripts/fuzz_verifier.py runs/fuzz -max_total_time=300

Any exception, or an input that takes more than a second, is written to the working directory by the fuzzer. The corpus
folder keeps what reached new code, so that a later run starts from it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["cooper_rl.verifiers"]):
    from cooper_rl.verifiers.math import estimate
    from cooper_rl.verifiers.math.form import compare
    from cooper_rl.verifiers.math.number import Number
    from cooper_rl.verifiers.math.reader import form_of
    from cooper_rl.verifiers.math.stated import closing_number, is_hedged, last_figure, read, unclear

SEEDS = (
    r"\boxed{\frac{1}{2}}",
    r"\{x|-2<x<3\} \cup [5, \infty)",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
    "The answer is forty-two point five percent.",
    r"x = 1, y = \pm 2 \text{ and } z \neq 3",
    "#### $1,234.50 per hour",
    "1011_2 10:30 1.5e-7 21 13/14 (B) 12%",
)


def one(data: bytes) -> None:
    """Reads the input as reference and completion; both must give a form or none within a second."""
    provider = atheris.FuzzedDataProvider(data)
    reference, completion = provider.ConsumeUnicode(200), provider.ConsumeUnicode(2000)
    started = time.monotonic()
    gold, reading = form_of(reference), read(completion)
    is_hedged(reading), unclear(reference, reading), closing_number(completion), last_figure(completion)
    estimate.of_text(reference)
    answer = form_of(reading.stated) if reading.stated else None
    if isinstance(gold, Number) and isinstance(answer, Number):
        compare(gold, answer)
    if time.monotonic() - started > 1:
        raise TimeoutError(f"{time.monotonic() - started:.1f} s")


def main() -> None:
    folder = next((Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")), None)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for index, seed in enumerate(SEEDS):
            (folder / f"seed{index}").write_bytes(seed.encode() * 2)
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
