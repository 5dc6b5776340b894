"""The statistics of an annotation: rule against judge, agreement beyond chance, and what was kept or dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cooper_rl.labelling.candidate import Candidate

VOTES = {True: "correct", False: "incorrect", None: "abstained"}


def kappa(both_yes: int, only_first: int, only_second: int, both_no: int) -> float:
    """Cohen's kappa of two judges, from the counts of their four combinations; 0 where it is not defined."""
    total = both_yes + only_first + only_second + both_no
    if not total:
        return 0.0
    agreed = (both_yes + both_no) / total
    first, second = (both_yes + only_first) / total, (both_yes + only_second) / total
    chance = first * second + (1 - first) * (1 - second)
    return (agreed - chance) / (1 - chance) if chance < 1 else 0.0


def statistics(candidates: Sequence[Candidate], seconds: Mapping[str, float]) -> dict[str, Any]:
    """The statistics of an annotation, as a JSON-compatible dict."""
    seen = [c for c in candidates if c.verdict is not None]
    matrix = Counter((str(c.verdict), VOTES[c.vote]) for c in seen if c.judged)
    return {
        "completions": len(candidates),
        "judged": sum(c.judged for c in seen),
        "kept": sum(not c.reason for c in candidates),
        "kept_share": sum(not c.reason for c in candidates) / max(1, len(candidates)),
        "kept_correct": sum(not c.reason and c.correct for c in candidates),
        "dropped": dict(Counter(c.reason for c in candidates if c.reason).most_common()),
        "rule_x_judge": {
            verdict: {vote: matrix[verdict, vote] for vote in VOTES.values()}
            for verdict in sorted({verdict for verdict, _ in matrix})
        },
        "kappa": kappa(
            matrix["CORRECT", "correct"],
            matrix["CORRECT", "incorrect"],
            matrix["INCORRECT", "correct"],
            matrix["INCORRECT", "incorrect"],
        ),
        "by_source": shares(candidates, "source"),
        "by_model": shares(candidates, "model"),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "rule_share_of_seconds": seconds.get("rule", 0.0) / max(1e-9, sum(seconds.values())),
    }


def shares(candidates: Sequence[Candidate], name: str) -> dict[str, dict[str, float]]:
    """For each value of a field: the completions, the share kept, and the share of right ones among those kept."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(str(candidate.record.get(name, "")), []).append(candidate)
    found = {}
    for value, group in sorted(groups.items()):
        kept = [c for c in group if not c.reason]
        right = sum(c.correct for c in kept)
        found[value] = {
            "completions": len(group),
            "kept": len(kept) / len(group),
            "right": right / max(1, len(kept)),
        }
    return found


def as_lines(found: Mapping[str, Any]) -> list[str]:
    """The statistics as lines of text."""
    lines = [
        f"{found['completions']} completions, {found['kept']} kept ({found['kept_share']:.1%}), "
        f"{found['kept_correct']} of them right; "
        + (f"kappa of rule and judge {found['kappa']:.3f}" if found["judged"] else "labelled by the rule alone"),
        *(f"  dropped {count:>6}  {reason}" for reason, count in found["dropped"].items()),
    ]
    if found["judged"]:
        lines.append(f"{'rule by judge':<14}" + "".join(f"{vote:>11}" for vote in VOTES.values()))
    for verdict, row in found["rule_x_judge"].items() if found["judged"] else ():
        lines.append(f"{verdict:<14}" + "".join(f"{row[vote]:>11}" for vote in VOTES.values()))
    for part in ("by_source", "by_model"):
        for value, row in found[part].items():
            lines.append(f"{part[3:]} {value}: {row['completions']}, kept {row['kept']:.1%}, right {row['right']:.1%}")
    total = sum(found["seconds"].values())
    lines.append(f"{total:.1f} s, {found['rule_share_of_seconds']:.1%} of them in the rule verifier")
    return lines
