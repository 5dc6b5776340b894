"""The data set that is answered in words: writings, what is held out, and which completions are right."""

import random
import re
from collections import Counter

import pytest

from cooper_rl.domains.generated import split_of
from studies.passages.data_set import STORIES, Passages, is_right
from studies.passages.readings import mentions
from studies.passages.stories import date, key_of
from studies.passages.wordings import FIRST_NAMES, of_amount, of_date, of_time

WORLD = Passages()
PROBLEMS = WORLD.problems("train", 400, 0)
PARTS = {split: WORLD.problems(split, 700, 1) for split in WORLD.splits}
NAMES = {name for names in FIRST_NAMES.values() for name in names}

FLUTE = {
    "people": [["Maria", "Lopez", "f"], ["Ben", "Ortiz", "m"], ["Ana", "Lopez", "f"]],
    "focus": ["flute"],
    "others": ["drum", "piano"],
    "text": "Maria Lopez played the flute, and Ben Ortiz played the drum. Ana Lopez played the piano.",
}
DRUM = {**FLUTE, "focus": ["drum"], "others": ["flute", "piano"]}
OF_ANA = {"focus": ["Ana"], "others": ["Ben", "Carl"], "text": "Ana came home on 3 March. When did Ana come home?"}
DAY, LATER, SUM = ({**OF_ANA, "given": given} for given in (["03-01"], ["08:30"], ["12 euro", "8 euro"]))
HALF = {**OF_ANA, "given": ["40 euro"]}
UNCLE = {
    "roles": {"to": "Ben", "asked": "Carl", "others": ["Ana", "Dora"]},
    "steps": ["mother", "brother"],
    "value": "uncle",
    "text": "Ana is Ben's mother. Carl is Ana's brother. Dora is Ben's coach.",
}
RIGHT = [  # kind, answer, what the passage says, completions
    ("person", "Maria Lopez", FLUTE, "Maria|Maria Lopez.|Lopez, Maria|maria lopez|**Maria Lopez**|Ms. Maria Lopez"),
    (
        "person",
        "Maria Lopez",
        FLUTE,
        "It was Maria Lopez, not Ben Ortiz.|Not Ben Ortiz but Maria Lopez.|No, it was Maria.",
    ),
    (
        "person",
        "Maria Lopez",
        FLUTE,
        "So the answer is \\boxed{Maria}.|The flute was played by Maria.|Maria played the flute.",
    ),
    (
        "person",
        "Maria Lopez",
        FLUTE,
        "Who played it? Maria Lopez.|It wasn't Ben; it was Maria.|Maria, and nobody else.",
    ),
    ("person", "Ben Ortiz", DRUM, "Ortiz|Mr Ortiz|Mr. Ortiz|Ben|Ortiz played the drum."),
    ("date", "03-03", OF_ANA, "3 March|March 3rd|the third of March|3/3|On 3 March 2020.|3 Mar|Monday, 3 March"),
    ("date", "03-03", OF_ANA, "It was on 3 March, not 7 March.|Not on 7 March, but on 3 March.|March 3, before Ben"),
    ("date", "03-03", DAY, "Two days after 1 March is 3 March.|Ben came on 1 March, so Ana came on 3 March."),
    ("date", "03-03", DAY, "3 March, two days after 1 March|3 March because Ben came on 1 March"),
    ("time", "09:15", OF_ANA, "9:15|9.15|9:15 am|9.15 a.m.|09:15|nine fifteen|quarter past nine|at 9:15|9h15"),
    ("time", "09:15", OF_ANA, "a quarter past nine in the morning|15 minutes past nine|Ana woke up at 9:15."),
    ("time", "09:15", LATER, "8:30 plus 45 minutes is 9:15.|9:15, 45 minutes after 8:30"),
    ("time", "14:00", OF_ANA, "2 pm|two o'clock|2 o'clock in the afternoon|14:00|2:00|2 in the afternoon"),
    ("amount", "20 euro", OF_ANA, "20 euros|twenty euros|€20|EUR 20|20 EUR|20 €|20.00 euros|Ana paid 20 euros."),
    ("amount", "20 euro", HALF, "Half of 40 euros is 20 euros.|20 euros, half of 40 euros|40 / 2 = 20 euros"),
    ("amount", "20 euro", SUM, "12 + 8 = 20 euros|12 euros and 8 euros is 20 euros."),
    ("amount", "7 kilometre", OF_ANA, "7 km|seven kilometres|7 kilometers|7km|Ana walked 7 km"),
    ("place", "station", OF_ANA, "at the station|the train station|Station|Ana waited at the railway station."),
    ("place", "station", OF_ANA, "It was at the station, not at the harbour."),
    ("kinship", "uncle", UNCLE, "uncle|Uncle.|his uncle|Ben's uncle|Carl is Ben's uncle.|Carl is the uncle of Ben"),
    (
        "kinship",
        "uncle",
        UNCLE,
        "his mother's brother|the brother of his mother|He is his mom's brother.|maternal uncle",
    ),
    (
        "kinship",
        "uncle",
        UNCLE,
        "Ben has an uncle called Carl|Ben's uncle is Carl.|Carl is Ben's uncle, not his brother.",
    ),
    ("kinship", "uncle", UNCLE, "Ana is Ben's mother and Carl is her brother, so Carl is Ben's uncle."),
]
WRONG = {  # for each kind of hack or slip: the mirror of what is right
    "another value": [
        ("person", "Maria Lopez", FLUTE, "Ben Ortiz|Ana Lopez|Maria Ortiz|Maria Smith|Mr Lopez|Ben"),
        ("person", "Ben Ortiz", DRUM, "Ms Ortiz|Mrs Ortiz|Ben Lopez"),
        ("date", "03-03", OF_ANA, "13 March|30 March|3 May|3/5"),
        ("time", "09:15", OF_ANA, "9:15 pm|21:15|9:45|quarter to nine|quarter past ten|9:15 in the evening|19:15"),
        (
            "amount",
            "20 euro",
            OF_ANA,
            "20 dollars|$20|30 euros|120 euros|20.50 euros|twenty-one euros|-20 euros|20k euros",
        ),
        ("amount", "7 kilometre", OF_ANA, "7 m|7 metres|7 kg"),
        ("place", "station", OF_ANA, "the harbour|the pool"),
        (
            "kinship",
            "uncle",
            UNCLE,
            "brother|aunt|nephew|his father's brother|his mother's sister|great-uncle|step-uncle",
        ),
    ],
    "a part only": [
        ("person", "Maria Lopez", FLUTE, "Lopez|Ms Lopez"),  # Ana is a Lopez too
        ("date", "03-03", OF_ANA, "3|March"),
        ("time", "14:00", OF_ANA, "2|two"),
        ("amount", "20 euro", OF_ANA, "20|twenty"),
    ],
    "a list": [
        (
            "person",
            "Maria Lopez",
            FLUTE,
            "Maria and Ben|Maria, Ben, Ana|Maria Lopez / Ben Ortiz|Maria\nBen|Maria Peter",
        ),
        (
            "date",
            "03-03",
            OF_ANA,
            "3 March, 7 March|3 March and 7 March|3 March 7 March|from 3 March to 7 March|3-7 March",
        ),
        ("date", "03-03", DAY, "1 March, 3 March|1 March 3 March|3 March, 1 March"),
        ("time", "09:15", OF_ANA, "9:15, 9:30|9:15-9:30|from 9:15 to 9:30"),
        (
            "amount",
            "20 euro",
            OF_ANA,
            "20, 30 euros|20-30 euros|20 to 30 euros|twenty, thirty euros|20 euros and 50 cents",
        ),
        ("amount", "20 euro", HALF, "40 euros 20 euros|40, 20 euros|20 euros, 40 euros"),
        ("place", "station", OF_ANA, "the station, the pool|the station and the pool|the station in Berlin"),
        ("kinship", "uncle", UNCLE, "uncle, brother|Carl is Ben's uncle and brother|uncle nephew"),
    ],
    "a hedge": [
        ("person", "Maria Lopez", FLUTE, "Maria or Ben|Perhaps Maria|It could be Maria|Maria Lopez?"),
        ("date", "03-03", OF_ANA, "3 March or 7 March|Maybe 3 March|It may be 3 March|around 3 March|by 3 March"),
        ("time", "09:15", OF_ANA, "about 9:15|after 9:15|9:15 or 9:30"),
        ("amount", "20 euro", OF_ANA, "nearly 20 euros|more than 20 euros|at least 20 euros|20 euros less"),
        ("place", "station", OF_ANA, "the station?|either the station or the pool"),
        ("kinship", "uncle", UNCLE, "uncle or brother|uncle?"),
    ],
    "a denial": [
        (
            "person",
            "Maria Lopez",
            FLUTE,
            "Not Maria Lopez.|Maria didn't play the flute.|Neither Maria nor Ben|Everyone but Maria.",
        ),
        (
            "date",
            "03-03",
            OF_ANA,
            "not 3 March|She did not come home on 3 March|3 March was not the day.|3 March is wrong",
        ),
        ("time", "09:15", OF_ANA, "not at 9:15"),
        ("amount", "20 euro", OF_ANA, "not 20 euros|It was never 20 euros"),
        ("place", "station", OF_ANA, "not at the station"),
        ("kinship", "uncle", UNCLE, "not his uncle"),
    ],
    "taken back": [
        ("date", "03-03", OF_ANA, "3 March. No, 7 March."),
        ("person", "Ben Ortiz", DRUM, "Ben. No, Maria."),
    ],
    "of someone else": [
        ("person", "Maria Lopez", FLUTE, "Maria played the drum."),
        ("date", "03-03", OF_ANA, "Ben came home on 3 March."),
        ("amount", "20 euro", OF_ANA, "Ben paid 20 euros"),
        (
            "kinship",
            "uncle",
            UNCLE,
            "Ben is Carl's uncle|Carl's uncle|Ana is his uncle|the uncle of Carl|Dora is Ben's uncle",
        ),
    ],
    "only compared with": [
        ("date", "03-03", DAY, "two days after 3 March|before 3 March"),
        ("time", "09:15", LATER, "45 minutes after 9:15"),
        ("amount", "20 euro", HALF, "half of 20 euros"),
    ],
    "the passage or question": [
        ("person", "Maria Lopez", FLUTE, f"{FLUTE['text']}|Who played the flute?"),
        ("kinship", "uncle", UNCLE, f"{UNCLE['text']}|What is Carl to Ben?|Carl is Ana's brother."),
    ],
}


@pytest.mark.parametrize(("kind", "value", "known", "completions"), RIGHT)
def test_an_answer_in_any_writing_is_right(kind, value, known, completions):
    assert [text for text in completions.split("|") if not is_right(kind, value, known, text)] == []


@pytest.mark.parametrize("hack", WRONG)
def test_what_is_no_answer_is_wrong(hack):
    for kind, value, known, completions in WRONG[hack]:
        assert [text for text in completions.split("|") if is_right(kind, value, known, text)] == []


def test_every_writing_and_every_worked_solution_is_right():
    for problem in PROBLEMS:
        for text in (*problem.metadata["writings"], problem.metadata["worked_solution"]):
            assert WORLD.is_true(problem, text), (problem, text)


def test_no_part_of_the_question_is_right():
    """A sentence of the passage that has the answer has another one of its kind too."""
    for problem in PROBLEMS[:150]:
        sentences = re.split(r"(?<=\.)\s+|\n", problem.question)
        ends = [(i, j) for i in range(len(sentences)) for j in range(i + 1, len(sentences) + 1)]
        assert [s for i, j in ends if WORLD.is_true(problem, s := " ".join(sentences[i:j]))] == [], problem


def test_another_value_in_the_same_sentence_is_wrong():
    by_task = {}
    for problem in PROBLEMS:
        other = by_task.get(problem.metadata["task"])
        by_task[problem.metadata["task"]] = problem
        if other and other.metadata["value"] != problem.metadata["value"]:
            for text in set(other.metadata["writings"]) - set(problem.metadata["writings"]):  # two may be a Maria
                assert not WORLD.is_true(problem, f"It was {text}."), (problem, text)


def test_any_text_is_judged():
    rng = random.Random(0)
    odd = "\u017fix|past|\u212a|20|\u20ac|3/3|99/99|\u00b2|\u0663|0|to|o'clock|25:99|\\boxed{|}|'|-|\u2212|.|?|Feb|five"
    pieces = odd.split("|")
    for problem in PROBLEMS[:60]:
        text = "".join(rng.choice([*pieces, " ", *problem.metadata["writings"]]) for _ in range(40))
        assert WORLD.is_true(problem, text) in (True, False)
        assert WORLD.is_true(problem, "9" * 9000) is False


def test_the_reference_is_one_of_many_writings_and_the_rule_is_told_no_other():
    places = Counter(p.metadata["writings"].index(p.reference_answer) for p in PROBLEMS)
    assert not any(p.aliases for p in PROBLEMS) and len(places) >= 6 and places[0] < len(PROBLEMS) / 2
    assert all(len(p.metadata["writings"]) >= 2 for p in PROBLEMS)
    solved = [p.reference_answer.lower() in p.metadata["worked_solution"].lower() for p in PROBLEMS]
    assert 0.35 < sum(solved) / len(solved) < 0.6


def test_writings():
    assert of_date("03-21")[:3] == ("21 March", "March 21", "March 21st") and "the twenty-first of March" in of_date(
        "03-21"
    )
    assert {"9:15", "9:15 am", "quarter past nine", "nine fifteen"} <= set(of_time("09:15"))
    assert {"2 pm", "14:00", "two o'clock"} <= set(of_time("14:00")) and "quarter to ten" in of_time("09:45")
    assert of_amount("20 euro") == ("20 euros", "twenty euros", "€20", "EUR 20", "20 EUR")
    assert of_amount("7 kilometre")[2:] == ("7 km", "7 kilometers", "seven kilometers")


def facts_in(problem):
    """What the wording of a problem says, without the generator's key: values, and names where these are asked for."""
    task, kind = problem.metadata["task"], problem.metadata["kind"]
    passage, _, _ = problem.question.partition("\n")
    told = passage.split(". ", 1)[1]  # without the scene
    known = {**problem.metadata["known"], "text": problem.question, "value": problem.metadata["value"]}
    values = sorted(mention.value for mention in mentions(kind, told, known))
    if task in ("date", "time", "amount"):
        return task, *values
    if task in ("person", "place"):
        return task, *values, *sorted(set(re.findall(r"\w+", told)) & NAMES)
    if task == "kinship":
        roles = problem.metadata["known"]["roles"]
        return task, *problem.metadata["known"]["steps"], roles["to"], roles["asked"], roles["others"][0]
    return None  # a computed answer: its operands are in the key, without names


def test_no_held_out_problem_is_a_training_problem_in_other_words():
    """By the keys, and by what the wording itself says."""
    for read in (lambda p: p.metadata["key"], facts_in):
        seen = {split: {read(problem) for problem in problems} - {None} for split, problems in PARTS.items()}
        assert all(seen.values())
        assert not seen["train"] & seen["heldout"] and not seen["train"] & seen["reward_model_heldout"]
        assert not seen["heldout"] & seen["reward_model_heldout"]
    assert all(split_of(p.metadata["key"]) == split for split, problems in PARTS.items() for p in problems)


def test_a_key_is_the_same_in_other_words():
    assert key_of("date", "03-03", "05-07") == key_of("date", "05-07", "03-03") != key_of("time", "03-03", "05-07")
    for task, (story, _) in STORIES.items():
        keys = Counter(story(random.Random(seed)).key for seed in range(40))
        assert len(keys) > 20, task
        assert not [
            key for key in keys if "_sum" in key and re.search(r": .*[A-Z]", key)
        ]  # no names: renamed is the same
    stories = [date(random.Random(seed)) for seed in range(300)]
    assert len({story.passage for story in stories}) == 300


def test_the_shares_of_the_tasks_do_not_fall_with_the_size():
    for problems in PARTS.values():
        drawn = Counter(p.metadata["task"] for p in problems)
        assert all(abs(drawn[task] / len(problems) - share) < 0.05 for task, share in WORLD.shares.items())


def test_passages_are_short():
    words = [len(p.question.split()) for p in PROBLEMS]
    assert min(words) >= 20 and max(words) <= 60
    assert max(len(p.metadata["worked_solution"].split()) for p in PROBLEMS) <= 12
