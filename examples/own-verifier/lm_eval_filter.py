"""A filter of lm-evaluation-harness: `exact_match` behind it counts what the verifier calls CORRECT.

In a task's YAML, with this file beside it (or `function: cooper`, where this module has been imported):

filter_list: [{name: verified, filter: [{function: !function lm_eval_filter.Verified}, {function: take_first}]}]

pip install lm_eval
python examples/own-verifier/lm_eval_filter.py    prints: [['1/2', '[UNPARSEABLE]'], ['[INCORRECT]']]
"""

from collections.abc import Iterable, Sequence
from typing import Any

from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from cooper_rl import RuleVerifier, Verdict


@register_filter("cooper")
class Verified(Filter):
    """A response that is CORRECT becomes the document's answer; another becomes its verdict, in brackets."""

    def __init__(self, field: str = "answer") -> None:
        self.field = field

    def apply(self, resps: Iterable[Sequence[str]], docs: Sequence[dict[str, Any]]) -> list[list[str]]:
        """The filtered responses of each document."""
        given = [(str(doc[self.field]), said) for doc, each in zip(docs, resps, strict=True) for said in each]
        with RuleVerifier() as verifier:
            verdicts = verifier.verify_many([right for right, _ in given], [said for _, said in given])
        pairs = zip(given, verdicts, strict=True)
        told = iter([right if verdict is Verdict.CORRECT else f"[{verdict}]" for (right, _), verdict in pairs])
        return [[next(told) for _ in each] for each in resps]


if __name__ == "__main__":
    print(Verified().apply([[r"\boxed{0.5}", "I do not know."], ["It is 13."]], [{"answer": "1/2"}, {"answer": "12"}]))
