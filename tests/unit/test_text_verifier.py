"""The verifiers `text` and `auto`. Each class of answers has a mirror: it looks alike, and its verdict is another."""

import gzip
import hashlib
import json
import os
from pathlib import Path

import pytest

from cooper_rl.records import Reason, Verdict
from cooper_rl.testing import check_verifier
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifiers.auto import explain as explain_auto
from cooper_rl.verifiers.auto import kind_of
from cooper_rl.verifiers.math.verifier import explain as explain_math
from cooper_rl.verifiers.pool import by_several
from cooper_rl.verifiers.prose.statement import explain

SETS = Path(os.environ.get("COOPER_DATA_DIR", "")) / "beyond"
CORRECT, INCORRECT, OPEN = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNPARSEABLE

SAME = [  # one writing for what is written in several ways
    ("Zoë Brandt", "It was painted by ZOE BRANDT in her last year."),
    ("The Old Mill", "old mill"),
    ("Marks & Vale", "The shop is called Marks and Vale."),
    ("U.S. Senate", "The bill was passed by the US Senate."),
    ("J. R. Holm", "The author is J.R. Holm."),
    ("12,500", "About 12500 people live there."),
    ("four", "There are 4 seasons of it."),
    ("6", "It has six strings."),
    ("twenty-first", "He was the 21st to cross."),
    ("March 3, 2021", "The bridge was opened on the 3rd of March 2021."),
    ("3 March 2021", "It opened on 2021-03-03."),
    ("March 2021", "The bridge was opened on 3 March 2021."),
    ("2021", "The bridge was opened on March 3, 2021."),
    ("10–12 years", "It lives for 10-12 years."),
    ("1985–1993", "She played there from 1985 to 1993."),
    ("6 ft 1 in", "He is 6 feet 1 inch tall."),
    ("bluebell wood", "It is in the Blue Bell Wood."),
    ("honey bee", "They are honey bees."),
    ("in Brno", "Brno"),
    ("Holm, Ada", "Ada Holm"),
    ("Ada Marie Holm", "The part is played by Ada Holm."),
    ("President Ada Holm", "It was signed by Ada Holm."),
    ("Gannet (North Atlantic)", "gannet"),
    ("Brno and Graz", "The road leads from Graz to Brno."),
    ("Ada Holm", "The part is played byAda Holm1."),
]
DIFFERENT = [  # looks alike, and is not the same
    ("Zoë Brandt", "It was painted by Zoltan Brandt."),
    ("12", "It cost 12.5 pounds."),
    ("12", "It cost 12,500 pounds."),
    ("12", "It was on July 12, 1990."),
    ("12", "It takes 10-12 years."),
    ("13.5", "They sold 13.5 million."),
    ("March 3, 2021", "The bridge was opened in March 2021."),
    ("2021", "It had 20,211 visitors."),
    ("1", "She was one of the founders, and the first to leave."),
    ("10 years", "It takes at least 10, but 12 years as a rule."),
    ("Ada M. Holm", "The part is played by Ada Holm."),
    ("art", "It was the start."),
    ("Brno and Graz", "The road leads to Graz."),
]


@pytest.mark.parametrize(("reference", "completion"), SAME)
def test_one_writing_for_all(reference, completion):
    assert explain(reference, completion).verdict is CORRECT


@pytest.mark.parametrize(("reference", "completion"), DIFFERENT)
def test_another_answer_in_a_writing_that_looks_alike(reference, completion):
    assert explain(reference, completion).verdict is not CORRECT


STATED = [  # (reference, a text that states it, its mirror that does not)
    ("Brno", "The capital is Brno.", "The capital is not Brno."),
    ("Brno", "It is Brno, not Graz.", "It is Graz, not Brno."),
    ("Brno", "Not only Graz but also Brno.", "Neither Graz nor Brno."),
    ("Brno", "Brno is the place where it was signed.", "Brno is not the place where it was signed."),
    ("Brno", "Brno was taken by them.", "Brno was never taken by them."),
    ("Brno", "There is no doubt that it is Brno.", "There is no proof that it is Brno."),
    ("Brno", "I do not have the latest news. It lies in Brno.", "I do not believe that it lies in Brno."),
    ("Brno", "Unlike Graz, Brno has a harbour.", "Unlike Brno, Graz has a harbour."),
    ("Brno", "It is Brno rather than Graz.", "It is Graz rather than Brno."),
    ("Brno", "It was signed in Brno.", "It was signed in Brno or Graz."),
    ("Brno", "It was signed in Brno.", "It was signed in Graz or Brno."),
    ("Brno", "It was signed in Brno.", "It was signed in Graz/Brno."),
    ("Brno", "It was signed in Brno.", "It was signed either in Brno, Moravia, or in Graz."),
    ("Brno", "It is probably Brno.", "It might be Brno."),
    ("Brno", "I think it is Brno.", "Maybe Brno."),
    ("Brno", "It was in May that they met in Brno.", "They may have met in Brno."),
    ("Brno", "Many know that it is Brno.", "Many people think it is Brno."),
    ("Brno", "Brno.", "Brno?"),
    ("Brno", "Where was it signed? In Brno.", "Was it signed in Brno? I do not know."),
    ("Brno", "When they met in Brno, they signed it.", "When did they meet in Brno"),
    ("Brno", "Who signed it: Ada Holm, in Brno.", "Who signed it in Brno: Ada Holm."),
    ("Brno", "The mayor of the town, which is Brno, has a dog.", "The mayor of Brno is Ada Holm."),
    ("Holm", "It was written by Ada Holm.", "It was written by Holm Larsen."),
    ("Brno", "It lies on the river near Brno, Moravia.", "It is the football club Brno Rovers."),
    ("Korva", "It lies in Korva.", "It lies in South Korva."),
    ("Korva", "It lies on the Korva River.", "It is called Korva Valley."),
    ("Brno", "It lies in Brno, Moravia.", "Brno, Graz, Linz, Ulm"),
    ("Brno", "Trains run to Brno.", "Trains run to Graz, Brno and Linz."),
    ("Brno", "Trains run from Graz to Brno.", "Brno and Graz"),
    ("Brno", "It was signed in Brno. It has a castle.", "It was signed in Brno. It was signed in Graz."),
    ("Brno", "Brno. It has a castle.", "Brno. Graz. Linz."),
    ("Brno", "Brno\nIt has a castle.", "- Brno\n- Graz\n- Linz"),
    ("Brno", "1. Brno", "1. Brno\n2. Graz\n3. Linz"),
    ("Brno", "Graz. No, wait: Brno.", "Brno. No, wait: Graz."),
    ("Brno", "I thought of Graz, but it is actually Brno.", "I thought of Brno, but it is actually Graz."),
    ("Brno", "It was in Brno. They met at noon.", "It was in Brno. Or maybe it was in Graz."),
    ("Brno", "It has a castle and lies in Brno.", "Some of the towns are Graz and Brno."),
    ("Brno", "Towns with a castle are rare. It lies in Brno.", "It has several seats, such as Brno."),
    ("1990", "It was built in 1990.", "It was built before 1990."),
    ("30", "It has 30 rooms.", "It has over 30 rooms."),
    ("Brno", "The answer is Brno.", "The answer is Brno, Graz, Linz or Ulm."),
    ("Brno", "The answer is Brno.", "The answer is not Brno."),
    ("Brno", "The answer is Brno.", "I do not think that the answer is Brno."),
    ("Brno", "The answer is Brno. It is old.", "The answer is Brno. Or maybe Graz."),
    ("Brno", r"It is an old town. \boxed{Brno}", r"It is not \boxed{Brno}"),
    ("Brno", r"\boxed{\text{Brno}}", r"\boxed{Graz} or \boxed{Brno}"),
    (
        "Brno",
        "It could be Graz or Linz.\nBut the mill is old.\nThe answer is: **Brno**",
        "Brno is old.\nThe answer is Graz.",
    ),
    ("Brno", "<think>Graz or Linz?</think>Brno", "<think>It is Brno.</think>Graz"),
    ("never built", "It was never built.", "It was built."),
    ("Brno or Graz", "Brno or Graz", "Linz or Graz"),
]


@pytest.mark.parametrize(("reference", "states", "mirror"), STATED)
def test_an_answer_that_is_stated_and_its_mirror(reference, states, mirror):
    assert explain(reference, states).verdict is CORRECT
    found = explain(reference, mirror)
    assert (found.verdict, found.reason) == (OPEN, Reason.UNKNOWN_FORM)


@pytest.mark.parametrize(
    ("reference", "completion", "verdict"),
    [
        ("yes", "Yes, they do.", CORRECT),
        ("yes", "No, they do not.", INCORRECT),
        ("no", "The answer is no.", CORRECT),
        ("true", "That is false.", INCORRECT),
        ("yes", "Yes and no.", OPEN),
        ("yes", "They said yes to it.", OPEN),
        ("B", "The answer is (B).", CORRECT),
        ("B", "The answer is (C).", INCORRECT),
        ("1990", "1991", INCORRECT),
        ("1990", "It was 1991.", INCORRECT),
        ("1990", "The answer is 1991.", INCORRECT),
        ("1990", "March 3, 1991", INCORRECT),
        ("1990", "The 1991 edition was the second after the war.", OPEN),
        ("March 3, 1990", "March 4, 1990", INCORRECT),
        ("March 3, 1990", "1990", OPEN),
        ("March 3, 1990", "1989", INCORRECT),
        ("four", "5", INCORRECT),
        ("around 2.45 billion", "2.4 billion", OPEN),
        ("Monday", "Tuesday", INCORRECT),
        ("Ada Holm", "Eva Lind", OPEN),
        ("A. Holm", "B. Lind", OPEN),
        ("Brno", "Four", OPEN),
    ],
)
def test_only_what_excludes_the_reference_is_incorrect(reference, completion, verdict):
    assert explain(reference, completion).verdict is verdict


@pytest.mark.parametrize(
    ("reference", "completion", "reason"),
    [
        ("Brno", "", Reason.NO_ANSWER),
        ("Brno", " ... ?!", Reason.NO_ANSWER),
        ("1980s", "In the eighties.", Reason.UNKNOWN_FORM),
        (" ", "Brno", Reason.BAD_REFERENCE),
        ("Brno", "Graz", Reason.UNKNOWN_FORM),
    ],
)
def test_why_it_is_open(reference, completion, reason):
    found = explain(reference, completion)
    assert (found.verdict, found.reason) == (OPEN, reason)


@pytest.mark.parametrize(
    "completion",
    [
        "Brno Graz Linz Ulm",
        "brno graz linz ulm",
        "ulm linz graz brno",
        "Brno, Graz, Linz",
        "It is Brno, Graz, Linz.",
        "Brno - Graz - Linz",
        "Brno; Graz; Linz",
        "Brno|Graz|Linz",
        "Brno (or Graz)",
        "1) Brno 2) Graz 3) Linz",
        "(a) Brno (b) Graz (c) Linz",
        "Brno\n\nGraz\n\nLinz",
        "It is Brno\nIt is Graz",
        "Brno is the capital. Graz is the capital.",
        "Brno as well as Graz",
        "Candidates: Brno, Graz",
        "Possible answers are Brno and Graz.",
        "First guess: Brno. Second guess: Graz.",
        "Brno? Graz? Linz.",
        "Answer: brno graz linz ulm",
        r"\boxed{Brno Graz Linz Ulm}",
        r"\boxed{Brno, Graz, Linz}",
        "Is it Brno",
        "It isnt Brno.",
        "Brno would be wrong.",
        "Anything but Brno.",
        "Brno was my first idea. It is Graz.",
        "I am not sure. Brno, perhaps.",
        "Brno versus Graz",
        "It was Brno, alternatively Graz.",
        "Brno, failing that Graz",
        "Ann ate in Brno and Bo ate in Graz.",
        "Ann ate in Graz, while Bo slept in Brno.",
        "It was in Brno, while Bo slept in Graz.",
        "Ann saw Brno and Bo saw Graz.",
        "Brno won the cup, whereas Graz won the league.",
    ],
)
def test_candidates_and_guesses_are_never_correct(completion):
    assert explain("Brno", completion).verdict is OPEN


@pytest.mark.parametrize(
    "completion", ["1988 1989 1990 1991", "1989, 1990", "1989 or 1990", "from 1989 to 1990", "1989/1990"]
)
def test_candidate_years_are_never_correct(completion):
    assert explain("1990", completion).verdict is OPEN


@pytest.mark.parametrize(
    ("reference", "completion"),
    [
        ("1 April", "It was on April 1 and April 28."),
        ("1 April", "It was on the 1st of April, and on the 28th of November."),
        ("1 April", "It was on April 1, also on May 2."),
        ("1 April", "It was on April 1 of May."),
        ("1 April", "On April 1 (May 1)."),
        ("1 April", "It was April 1, and Ann came home on May 2."),
        ("34 pounds", "34 pounds for the coat and Ann paid 8 pounds for the lamp."),
        ("the station", "It was at the station, and Ann waited at the school."),
    ],
)
def test_a_second_date_amount_or_place_leaves_it_open(reference, completion):
    assert explain(reference, completion).verdict is OPEN


@pytest.mark.parametrize(
    ("reference", "completion"),
    [
        ("Graz", "It lies in Graz, Styria."),
        ("Holm", "It was Ada Marie Holm."),
        ("sand lizard", "common sand lizard"),
        ("1990", "In 1990."),
        ("1990", "It was built in 1990 and burnt in 1995."),
        ("season 6", "It is in the sixth season."),
        ("UK", "It is made in the United Kingdom."),
        ("Ada Marie Holm", "Ada M. Holm"),
        ("Ann Lee", "Ann Lee won the cup and Ann kept it."),
        ("Ann Lee", "It was directed by Ann Lee and Bo Hill wrote the music."),
        ("Graz", "It was made in Graz and Ann Lee liked it."),
        ("1 April 1990", "She was born on April 1, 1990 and died on May 3, 2000."),
        ("Brno", "Brno is the capital, and Graz lies in Styria."),
        ("Ann Lee", "The film starred Bo Hill as the king and Ann Lee as the queen."),
    ],
)
def test_what_only_looks_like_candidates_is_correct(reference, completion):
    assert explain(reference, completion).verdict is CORRECT


def test_a_long_text_without_a_marked_answer_is_not_searched():
    filling = "They walked along the river for a long while. " * 3
    assert explain("Brno", filling + "They came to Brno. " + filling).verdict is OPEN
    assert explain("Brno", filling + "So it was Brno.").verdict is CORRECT
    assert explain("Brno", filling * 20 + "So it was Brno.").verdict is OPEN
    assert explain("Brno", filling * 20 + "The answer is Brno.").verdict is CORRECT


def test_aliases_are_further_references():
    with RuleVerifier("text", workers=1) as verifier:
        found = verifier.explain_many(
            [["Brno", "Brünn"], ["Brno", "Brünn"], ["1990", "1991"], ["1990", "1991"]],
            ["It is called Brunn.", "It is called Graz.", "1991", "1992"],
        )
    assert [each.verdict for each in found] == [CORRECT, OPEN, CORRECT, INCORRECT]


@pytest.mark.parametrize(
    ("kind", "reference"),
    [
        *(("choice", each) for each in ("A", "(B)", "C)", "option C", "B) twelve apples")),
        *(
            ("text", each)
            for each in ("yes", "No", "Brno", "Al", "New Brno", "B. Holm", "Brno, Graz and Linz", "1980s")
        ),
        *(("text", each) for each in ("March 3, 2024", "Apollo 11", "Henry VIII", "never built", "Spider-Man")),
        *(
            ("math", each)
            for each in ("12", "x", "x + 1", "1/2", r"\frac{1}{2}", r"\text{Ada}", "$5$", "(1, 2)", "1997")
        ),
        *(
            ("math", each)
            for each in ("four", "4 apples", "2024-03-03", "no solution", "sin x", "x > 2", "3 cats, 2 dogs")
        ),
        *(("math", each) for each in ("So 4 + 5 = 9.\n#### 9", "", "undefined", "A = 5", "50%")),
    ],
)
def test_auto_chooses_by_the_reference(kind, reference):
    assert kind_of(reference) == kind


@pytest.mark.parametrize(
    "reference", ["12", "1/2", r"\sqrt{2}", "(1, 2)", r"\text{even}", "x = 3", "2 h", "no solution"]
)
def test_auto_judges_mathematics_as_math_does(reference):
    for completion in (
        "",
        "12",
        r"\boxed{0.5}",
        "The answer is 12.",
        "120 min",
        "even",
        "x = 3",
        r"\boxed{(1, 2)}",
        "none",
    ):
        assert explain_auto(reference, completion) == explain_math(reference, completion)


@pytest.mark.parametrize(
    ("kind", "answers"),
    [
        ("text", ["Brno", "Ada Holm", "1990", "March 3, 2024", "yes", "no", "B", "12 apples", "Monday"]),
        ("auto", ["Brno", "Ada Holm", "March 3, 2024", "yes", "no", "12", "1/3", "Monday"]),
    ],
)
def test_they_hold_to_the_contract(kind, answers):
    check_verifier(kind, answers, symmetric=kind == "text", deadline_seconds=2.0)


def half_of(record):
    """0 for the half whose mistakes were read while the rule was made, 1 for the half that was kept to confirm it."""
    return int(hashlib.sha256(record["question"].encode()).hexdigest(), 16) % 2


def judged(record):
    found = []
    for reference in (record["reference_answer"], *record["aliases"]):
        found.append(explain(reference, record["response"]))
        if found[-1].verdict is CORRECT:
            break
    return by_several(found).verdict


@pytest.fixture(scope="module")
def counts():
    """{(set, half, label, verdict): number} on the answers of EVOUNA."""
    if not (SETS / "evouna-nq.dev.jsonl.gz").is_file():
        pytest.skip("COOPER_DATA_DIR names no folder with beyond/evouna-nq.dev.jsonl.gz")
    found = {}
    for name in ("nq", "tq"):
        with gzip.open(SETS / f"evouna-{name}.dev.jsonl.gz", "rt") as lines:
            for record in map(json.loads, lines):
                key = name, half_of(record), bool(record["label"]), judged(record)
                found[key] = found.get(key, 0) + 1
    return found


def total(counts, sets, halves, label, verdicts=(CORRECT, INCORRECT, OPEN)):
    return sum(counts.get((name, half, label, each), 0) for name in sets for half in halves for each in verdicts)


@pytest.mark.parametrize(
    ("sets", "halves", "precision", "recall"),
    [
        (("nq", "tq"), (0, 1), 0.99, 0.75),
        (("tq",), (0, 1), 0.99, 0.75),
        (("nq",), (0, 1), 0.985, 0.75),  # misses 0.99; docs/verifier.md says why
    ],
)
def test_precision_and_recall_on_evouna(counts, sets, halves, precision, recall):
    hits = total(counts, sets, halves, True, (CORRECT,))
    assert hits / (hits + total(counts, sets, halves, False, (CORRECT,))) >= precision
    right = total(counts, sets, halves, True)
    assert hits / right >= recall
    assert total(counts, sets, halves, True, (INCORRECT,)) / right <= 0.002


TIMES = (  # a time without am or pm may be either, and a time in words is no number
    ("17:20", "It was at 5:20.", "UNPARSEABLE"),
    ("5:20", "It was at 17:20.", "UNPARSEABLE"),
    ("5:20 pm", "It was at 5:20 am.", "INCORRECT"),
    ("17:20", "It was at 6:20.", "INCORRECT"),
    ("three twenty", "15:20", "UNPARSEABLE"),
    ("two o'clock", "It was at 14:00.", "UNPARSEABLE"),
    ("1:55", "It was at 1.55 pm.", "UNPARSEABLE"),
    ("seven thirty", "7:30 am", "UNPARSEABLE"),
    ("five past two", "14:05", "UNPARSEABLE"),
    ("eleven twenty-five", "11:25", "UNPARSEABLE"),
    ("three twenty", "twenty past three", "UNPARSEABLE"),
    ("five past two", "It was five past two.", "CORRECT"),
    ("11:40", "It was at 11.", "INCORRECT"),
)
MONEY = (  # of another currency is not the answer
    ("£12", "12 pounds", "CORRECT"),
    ("$39", "39 dollars", "CORRECT"),
    ("€79", "seventy-nine", "CORRECT"),
    ("$39", "The answer is £39.", "INCORRECT"),
    ("£12", "12 euros", "INCORRECT"),
    ("$20", "$21", "INCORRECT"),
)


@pytest.mark.parametrize(("reference", "completion", "verdict"), TIMES + MONEY)
def test_times_and_money(reference, completion, verdict):
    assert explain(reference, completion).verdict.value == verdict
