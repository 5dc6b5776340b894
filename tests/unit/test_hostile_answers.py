"""Hostile completions: more than 500 of them, and none crashes, hangs, eats memory, runs code or is found CORRECT."""

import resource
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from cooper_rl.records import Verdict
from cooper_rl.verifiers import RuleVerifier

DEADLINE = 1.0
WRAPS = ("{}", r"\boxed{{{}}}", "The answer is ${}$.", "#### {}")


def code(path: str) -> list[str]:
    """Texts that leave a file behind if anything evaluates them."""
    touch = f"open({path!r},'w')"
    return [
        f"__import__('os').system('touch {path}')",
        touch,
        f"(lambda: {touch})()",
        f"eval({touch!r})",
        f"exec({touch!r})",
        f"[c for c in ().__class__.__base__.__subclasses__()] or {touch}",
        f"12 if {touch} else 12",
        f"\\text{{{touch}}}",
        f"{{{{ {touch} }}}}",
        f"$({touch})",
        f"`touch {path}`",
        f"; touch {path};",
        f"\\input{{|touch {path}}}",
        f"\\write18{{touch {path}}}",
        f"sympify({touch!r})",
        f"\\operatorname{{exec}}({touch})",
    ]


def texts() -> list[str]:
    """Hostile contents; each is tried in every wrap."""
    cases = ["^{".join(["9"] * depth) + "}" * (depth - 1) for depth in (4, 6, 9)]
    cases += ["9" + "^9" * 8, "(" * 40 + "9" + "!)" * 40, "2^{2^{100}}", "10^{10^{10}}", r"\binom{10^9}{5^9}"]
    cases += ["1" * n for n in (20, 401, 5000, 60_000)] + ["0." + "3" * n for n in (30, 5000)]
    cases += [a * n + "12" + b * n for a, b in ("()", "[]", "{}", (r"\{", r"\}")) for n in (5, 300, 20_000)]
    cases += [a * n for a in "([{" for n in (1, 1000)] + [b * n for b in ")]}" for n in (1, 1000)]
    cases += [
        r"\frac{",
        r"\frac{1",
        r"\frac{1}{",
        r"\sqrt[",
        r"\begin{pmatrix} 1 & 2",
        r"\left(",
        r"\text{12",
        "$$$",
        "\\",
    ]
    cases += [r"\frac{12}{0}", r"\log(0)", r"0^0", r"\frac{0}{0}", r"\infty - \infty", r"\lim_{x \to 0} \frac{1}{x}"]
    cases += [r"\int_{0}^{\infty} e^{-x^2} dx", r"\sum_{n=1}^{\infty} \frac{1}{n^2}", r"\prod_{n=1}^{10^9} n"]
    cases += [
        "\x00",
        "\x0012\x0013",
        "1\x002",
        "\u202e21",
        "\u200b",
        "\ufeff13",
        "\ud7ff",
        "1\u03002",
        "𝟏𝟑",
        "१३",
        "١٣",
        "XIII",
    ]
    cases += [", ".join(map(str, range(n))) for n in (63, 65, 3000)] + [
        "x=" * 500 + "13",
        "a<" * 200 + "b",
        r"\pm" * 60 + "1",
    ]
    cases += [
        "nan",
        "inf",
        "None",
        "True",
        "1e400",
        "1e-400",
        "0x0D",
        "0b1101",
        "13j",
        "1_3",
        "--13",
        "+-13",
        "13e",
        "e13",
    ]
    cases += ["{{" * 30 + "13" + "}}" * 30, r"\text{" * 50 + "13" + "}" * 50, r"\boxed{" * 50 + "13" + "}" * 50]
    return cases


def unicode_samples() -> list[str]:
    """Three characters of every Unicode category, beside a wrong number."""
    found: dict[str, list[str]] = {}
    for point in range(sys.maxunicode + 1):
        if not 0xD800 <= point <= 0xDFFF:
            group = found.setdefault(unicodedata.category(chr(point)), [])
            if len(group) < 3:
                group.append(chr(point))
    return [f"13{c}{c}" for group in found.values() for c in group]


def cases(path: str) -> list[str]:
    wrapped = [wrap.format(text) for text in [*texts(), *code(path)] for wrap in WRAPS]
    boxes = [r"\boxed{13}" * 1000, " ".join(rf"\boxed{{{i}}}" for i in range(1000)), r"\boxed{" * 1000 + "12"]
    return wrapped + boxes + unicode_samples()


@pytest.fixture(scope="module")
def verifier():
    with RuleVerifier(workers=2, deadline_seconds=DEADLINE, memory_limit_mb=1500) as rule:
        yield rule


@pytest.mark.parametrize("share", [18, pytest.param(1, marks=pytest.mark.slow)])
def test_hostile_completions(verifier, tmp_path, share):
    sentinel = tmp_path / "ran"
    hostile = cases(str(sentinel))[::share]
    assert len(hostile) >= 500 // share
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reference = next(
        str(n) for n in range(77, 1000) if str(n) not in str(sentinel)
    )  # a folder's name may hold a number
    found = verifier.explain_many([reference] * len(hostile), hostile)
    assert [c for c, v in zip(hostile, found, strict=True) if v.verdict is Verdict.CORRECT] == []
    assert not sentinel.exists()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024  # KiB, of this process
    assert verifier.verify("77", "77") is Verdict.CORRECT  # and the pool still works


@pytest.mark.slow
def test_hostile_references(verifier, tmp_path):
    """A data set may be hostile too; nothing is CORRECT but the very same text."""
    sentinel = tmp_path / "ran"
    hostile = [text for text in [*texts(), *code(str(sentinel))] if text.strip() not in ("13", "+-13", "--13")]
    found = verifier.explain_many(hostile, ["The answer is 77."] * len(hostile))
    assert [c for c, v in zip(hostile, found, strict=True) if v.verdict is Verdict.CORRECT] == []
    assert not sentinel.exists()


@pytest.mark.parametrize(
    "completion",
    [
        "7" * 10_000_000,
        "(" * 10_000_000,
        "$" * 10_000_000,
        r"\boxed{" * 1_000_000,
        "a " * 5_000_000,
        "\\frac" * 2_000_000,
    ],
)
def test_ten_megabytes(verifier, completion):
    verifier.verify_many(["77"] * 2, ["77"] * 2)  # starts the workers that the last one ended
    started = time.monotonic()
    assert verifier.verify("77", completion) is not Verdict.CORRECT
    assert time.monotonic() - started < DEADLINE + 1


def test_nothing_in_the_package_evaluates_text():
    """No eval, exec, compile or sympify of our own beside the library's parser."""
    folder = Path(__file__).parents[2] / "src" / "cooper_rl" / "verifiers"
    for path in folder.rglob("*.py"):
        for call in ("eval(", "exec(", "sympify(", "parse_expr(", "__import__("):
            assert call not in path.read_text().replace("ast.literal_eval(", ""), f"{path.name}: {call}"
