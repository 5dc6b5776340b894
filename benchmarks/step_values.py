"""Where the value of a completion moves: at its last sentence, where the answer is stated, or before.

    python benchmarks/step_values.py nano nano-weekdays

Values the sentences of the held-out triples that are shipped with a nano VerifyRM, of those with three sentences and
more. A row has the share of the values' movement at the last sentence, and how well the value after the first sentence,
before the last and at the end tells right from wrong (AUROC).
"""

from __future__ import annotations

import argparse

import numpy as np

from cooper_rl.engines.loading import resolve_triples
from cooper_rl.evaluation.metrics import auroc
from cooper_rl.evaluation.process import last_step_share
from cooper_rl.steps import step_ends
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.triples import read_triples

PLACES = {"first": 0, "before the last": -2, "end": -1}


def main() -> None:
    parser = argparse.ArgumentParser(description="Where the value of a completion moves.")
    parser.add_argument("models", nargs="+", help="shipped VerifyRMs: nano, nano-weekdays")
    for name in parser.parse_args().models:
        model = VerifyRM.from_pretrained(name)
        triples = read_triples(resolve_triples(name, "heldout"))
        ends = {t: ends_S for t in triples if len(ends_S := step_ends(t.completion, "sentence")) >= 3}
        values = [values_S.double().numpy() for values_S in model.step_values(list(ends), list(ends.values()))]
        right = np.array([triple.correct for triple in ends])
        cells = [f"{place} {auroc(np.array([each[at] for each in values]), right):.3f}" for place, at in PLACES.items()]
        print(f"{name}: {len(values)} completions, at the last {last_step_share(values):.0%}, AUROC", ", ".join(cells))


if __name__ == "__main__":
    main()
