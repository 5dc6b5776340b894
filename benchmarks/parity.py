"""The same completions judged by ours, by lm-evaluation-harness's GSM8K metrics and by lighteval's maths metric.

python benchmarks/parity.py judge ours math SAMPLES OUT                  kinds: math, gsm8k_strict, gsm8k_flexible, ...
python benchmarks/parity.py judge lm-eval strict-match SAMPLES OUT       in an environment with lm_eval
python benchmarks/parity.py judge lighteval expr SAMPLES OUT             in an environment with lighteval
python benchmarks/parity.py table SAMPLES OUT...                         shares, agreement, and the disagreements

SAMPLES is JSONL (also .gz) with `reference` or `answer`, `completion` and, if known, `correct`. OUT: a 0 or 1 a line.
The three do not fit into one environment: they want different versions of latex2sympy2_extended.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SHOWN = 6  # disagreements of each kind


def samples_of(path: Path) -> list[dict[str, Any]]:
    """The samples with `reference`, `completion`, `correct`."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        found = [json.loads(line) for line in lines]
    return [
        {"reference": s.get("reference", s.get("answer")), "completion": s["completion"], "correct": s.get("correct")}
        for s in found
    ]


def ours(kind: str, samples: Sequence[dict[str, Any]]) -> list[bool]:
    """The rule verifier's CORRECT."""
    from cooper_rl.verifiers import RuleVerifier

    with RuleVerifier(kind) as verifier:
        verdicts = verifier.verify_many([s["reference"] for s in samples], [s["completion"] for s in samples])
    return [verdict == "CORRECT" for verdict in verdicts]


def lm_eval(name: str, samples: Sequence[dict[str, Any]]) -> list[bool]:
    """lm-evaluation-harness's filter of this name and its exact match, as its gsm8k.yaml sets them."""
    import lm_eval.tasks
    import yaml
    from lm_eval.api.metrics import exact_match_hf_evaluate
    from lm_eval.filters.extraction import RegexFilter

    task = yaml.safe_load((Path(lm_eval.tasks.__file__).parent / "gsm8k" / "gsm8k.yaml").read_text())
    (chosen,) = [f for f in task["filter_list"] if f["name"] == name]
    (regex,) = [dict(f) for f in chosen["filter"] if f["function"] == "regex"]
    del regex["function"]
    (metric,) = task["metric_list"]
    settings = {key: metric[key] for key in ("regexes_to_ignore", "ignore_case", "ignore_punctuation")}
    extracted = RegexFilter(**regex).apply([[s["completion"]] for s in samples], [{} for _ in samples])
    found = []
    for sample, (answer,) in zip(samples, extracted, strict=True):
        score = exact_match_hf_evaluate(predictions=[answer], references=[sample["reference"]], **settings)
        found.append(bool(score["exact_match"]))
    return found


def lighteval(name: str, samples: Sequence[dict[str, Any]]) -> list[bool]:
    """lighteval's extractive match against a gold that is an expression (`expr`) or LaTeX (`latex`)."""
    from lighteval.metrics.metrics import Metrics
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc

    metric = getattr(Metrics, f"{name}_gold_metric").value.sample_level_fn
    found = []
    for sample in samples:
        gold = sample["reference"] if name == "expr" else f"${sample['reference']}$"
        doc = Doc(query="", choices=[gold], gold_index=0)
        found.append(bool(metric.compute(doc=doc, model_response=ModelResponse(text=[sample["completion"]]))))
    return found


JUDGES: dict[str, Callable[[str, Sequence[dict[str, Any]]], list[bool]]] = {
    "ours": ours,
    "lm-eval": lm_eval,
    "lighteval": lighteval,
}


def table(samples: Sequence[dict[str, Any]], names: Sequence[str], verdicts: Sequence[Sequence[bool]]) -> None:
    """Shares of right ones; for each judge but the first, how it differs from the first, by label."""
    print(
        f"{len(samples)} samples\n\n| judge | says right | agrees with the first | with the label |\n|---|---|---|---|"
    )
    labels = [s["correct"] for s in samples]
    for name, own in zip(names, verdicts, strict=True):
        agreed = sum(a == b for a, b in zip(own, verdicts[0], strict=True)) / len(samples)
        told = [a == bool(label) for a, label in zip(own, labels, strict=True) if label is not None]
        by_label = f"{sum(told) / len(told):.4f}" if told else "-"
        print(f"| {name} | {sum(own) / len(own):.4f} | {agreed:.4f} | {by_label} |")
    for name, own in zip(names[1:], verdicts[1:], strict=True):
        kinds: Counter[tuple[bool, bool, Any]] = Counter(zip(verdicts[0], own, labels, strict=True))
        for kind, count in sorted(kinds.items(), key=str):
            if kind[0] == kind[1]:
                continue
            says = f"{names[0]} {'right' if kind[0] else 'wrong'}, {name} {'right' if kind[1] else 'wrong'}"
            print(f"\n{says}, label {kind[2]}: {count}")
            triples = zip(samples, verdicts[0], own, strict=True)
            like = [s for s, first, other in triples if (first, other, s["correct"]) == kind]
            for sample in like[:: max(1, count // SHOWN)][:SHOWN]:
                print(f"  {sample['reference'][:40]!r} <- {sample['completion'][-110:]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("judge", "table"))
    parser.add_argument("rest", nargs="+")
    arguments = parser.parse_args()
    if arguments.action == "judge":
        judge, kind, path, out = arguments.rest
        verdicts = JUDGES[judge](kind, samples_of(Path(path)))
        Path(out).write_text("".join(f"{int(v)}\n" for v in verdicts))
        sys.stderr.write(f"{judge} {kind}: {sum(verdicts)} of {len(verdicts)} right\n")
        return
    path, *outs = arguments.rest
    verdicts = [[line == "1" for line in Path(out).read_text().split()] for out in outs]
    table(samples_of(Path(path)), [Path(out).stem for out in outs], verdicts)


if __name__ == "__main__":
    main()
