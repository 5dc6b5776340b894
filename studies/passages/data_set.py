"""The data set `passages`: its splits, its problems and their truth.

A split depends on the facts of a problem and not on its wording, so that no held-out problem is a training problem in
other words. See `stories.Story.key`.

A completion is right if it states one value, and this is the answer. Not right are several values, a denied or doubted
one, one that is only compared with ("after 3 March"), and a value that is said of someone else. The working before "so"
or "=" and the reason after "because" are left out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from cooper_rl.domains.domain import Domain
from cooper_rl.domains.generated import GENERATED, SPLITS, own_split, split_of
from cooper_rl.records import Problem
from studies.passages import inferences, stories
from studies.passages.readings import Known, Mention, mentions, same
from studies.passages.stories import Story, solution

STORIES: Mapping[str, tuple[Callable[[random.Random], Story], float]] = {  # each with its share of the draws
    "person": (stories.person, 0.14),
    "place": (stories.place, 0.12),
    "date": (stories.date, 0.12),
    "time": (stories.time, 0.12),
    "amount": (stories.amount, 0.12),
    "date_sum": (inferences.date_sum, 0.08),
    "time_sum": (inferences.time_sum, 0.08),
    "amount_sum": (inferences.amount_sum, 0.08),
    "kinship": (inferences.kinship, 0.14),
}
_MARKUP = re.compile(r"\\(?:boxed|fbox|text|textbf|mathrm)\s*\{([^{}]*)\}")
_DOUBT = re.compile(
    r"\b(?:or|maybe|perhaps|possibly|probably|might|could|(?-i:may)(?= )|either|unsure|unclear|unknown|uncertain"
    r"|guess\w*|not sure|whether|if|unless|options?|candidates?|cannot|can(?:['’]t|not)|one of|any of"
    r"|not (?:true|right|correct)|false|wrong|incorrect|untrue|don['’]t know)\b|/\s*(?=[A-Z])",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_SO = re.compile(r"\b(?:so|therefore|thus|hence|(?:which|that) (?:means|makes))\b", re.IGNORECASE)
_BECAUSE = re.compile(r"\b(?:because|since)\b", re.IGNORECASE)
_NOT = r"(?:not|never|nor|neither|no|nobody|without|except|unlike|rather than|instead of|other than|\w+n['’]t)"
_DENIED_BEFORE = re.compile(rf"\b{_NOT}\b(?!,)", re.IGNORECASE)
_DENIED_AFTER = re.compile(r"(?<!,)(?<!and)(?<!but) \b(?:not|never|\w+n['’]t)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:\n]|[.!?]\s|\bbut\b|\band\b", re.IGNORECASE)
_STEP = r"(?:before|after|until|till|about|around|nearly|almost|roughly|approximately|than|over|under|least|most)"
_FACTOR = r"|by|from|since|half of|(?:third|quarter) of|half|twice|double|past|plus|minus|times|less|earlier|later"
_COMPARED = {
    "person": re.compile(rf"\b(?:{_STEP}|as|for|to|from) (?:the )?$", re.IGNORECASE),
    **dict.fromkeys(
        ("date", "time", "amount"), re.compile(rf"\b(?:{_STEP}{_FACTOR})(?: (?:the|on|at))? ?$", re.IGNORECASE)
    ),
}
_COMPARES = re.compile(r" (?:less|more|earlier|later|off|before|after)\b", re.IGNORECASE)
_ALL_BUT = re.compile(r"\b(?:every|any|some)(?:one|body|thing|where)?(?: else)? (?:but|besides|than) $", re.IGNORECASE)
_RESULT = re.compile(r"\b(?:is|are|was|makes?|gives?|equals?|comes? to)\b|=", re.IGNORECASE)
_BESIDE = re.compile(r"\b(?:before|after|than|as|of|with|from|for|unlike|not) $", re.IGNORECASE)


class Passages(Domain):
    """Short passages with one question: who, where, when, how much, and who is what to whom.

    The reference answer is one of the answer's writings, drawn at random. The others are in the metadata, and only
    `is_true` reads them.
    """

    name = "passages"
    splits = tuple(SPLITS)
    verifier = "text"
    shares: ClassVar[Mapping[str, float]] = {task: share for task, (_, share) in STORIES.items()}

    def problems(self, split: str, size: int | None, seed: int) -> list[Problem]:
        """Distinct problems of a split, 1,000 if no size is given. `test` is another name of `heldout`.

        Raises:
            BadInputError: there is no such split.
        """
        split = own_split(split)
        self.check_split(split)
        rng = random.Random(f"{self.name}-{split}-{seed}")
        problems: dict[str, Problem] = {}
        while len(problems) < (size or GENERATED):
            task = rng.choices(list(self.shares), weights=list(self.shares.values()))[0]
            while split_of((story := STORIES[task][0](rng)).key) != split:
                pass
            problem = problem_of(story, rng, f"{self.name}-{split}-{seed}-{len(problems)}")
            problems.setdefault(problem.question, problem)
        return list(problems.values())

    def check(self, split: str) -> None:
        """Checks the name of the split."""
        self.check_split(own_split(split))

    def is_true(self, problem: Problem, completion: str) -> bool:
        """Whether the completion states the answer in any of its writings, and no other one."""
        story = problem.metadata
        known = {**story["known"], "text": problem.question, "value": story["value"]}
        return is_right(str(story["kind"]), str(story["value"]), known, completion)


def problem_of(story: Story, rng: random.Random, problem_id: str) -> Problem:
    """A story as a problem, with one writing as its reference answer and a short answer as its worked solution."""
    reference = rng.choice(story.all_writings)
    metadata = {
        **{name: getattr(story, name) for name in ("task", "kind", "key", "value")},
        "writings": list(story.all_writings),
        "known": dict(story.known),
        "worked_solution": solution(story, reference, rng),
    }
    return Problem(f"{story.passage}\n{story.question}", reference, f"passages:{story.task}", problem_id, metadata)


def is_right(kind: str, value: str, known: Known, completion: str) -> bool:
    """Whether a completion states this value, and no other one, as the answer.

    Args:
        known: what the passage says: see `story.Story.known`.
    """
    text = plain(completion)
    if _DOUBT.search(text):
        return False
    text = conclusion(" ".join(each for each in _SENTENCES.split(text) if not each.endswith("?")), kind, known)
    found = mentions(kind, text, known)
    denied = [each for each in found if is_denied(text, each, found)]
    stated = [each for each in found if each not in denied and not is_compared(kind, text, each)]
    right = [each for each in stated if same(kind, value, each.value)]
    if not right or any(same(kind, value, each.value) for each in denied):
        return False
    others = [each for each in stated if each not in right]
    if others and not is_working(kind, text, stated, others, known.get("given", ())):
        return False
    return _is_of_asked(text, known) and ("roles" not in known or _has_right_roles(text, found, known["roles"]))


def plain(completion: str) -> str:
    """A completion without markup and quotation marks."""
    text = completion.replace("\\$", "$").replace("’", "'")
    while (bare := _MARKUP.sub(r"\1", text)) != text:
        text = bare
    return re.sub(r"\*\*|__|[`\"“”]|^#+ ?", "", text).strip()


def conclusion(text: str, kind: str, known: Known) -> str:
    """What follows the last "so" or "=" and comes before "because", where that part has a value."""
    for found in reversed(list(_SO.finditer(text))):
        if mentions(kind, text[found.end() :], known):
            text = text[found.end() :]
            break
    right_side = text.rpartition("=")[2]
    text = right_side if mentions(kind, right_side, known) else text
    reason = _BECAUSE.search(text)
    return text[: reason.start()] if reason and mentions(kind, text[: reason.start()], known) else text


def is_denied(text: str, mention: Mention, found: Sequence[Mention]) -> bool:
    """Whether its clause has a negation before it, or a negation follows that concerns no other value."""
    before = text[: mention.start]
    clause = before[max((each.end() for each in _CLAUSE.finditer(before)), default=0) :]
    sentence = re.split(r"[.!?](?:\s|$)", text[mention.end :])[0]
    later = [each.start - mention.end for each in found if mention.end < each.start]
    denial = _DENIED_AFTER.search(sentence)
    return bool(
        _DENIED_BEFORE.search(clause)
        or _ALL_BUT.search(before)
        or (denial and not any(at > denial.start() for at in later))
    )


def is_compared(kind: str, text: str, mention: Mention) -> bool:
    """Whether it only helps to say something else: two days after 3 March, half of 40 euros."""
    pattern = _COMPARED.get(kind)
    measured = kind == "amount" and _COMPARES.match(text[mention.end :])
    return bool(measured or (pattern and pattern.search(text[: mention.start])))


def is_working(
    kind: str, text: str, stated: Sequence[Mention], others: Sequence[Mention], given: Sequence[str]
) -> bool:
    """Whether all but the last value are the passage's, from which the last one is said to follow."""
    last = stated[-1]
    known = all(any(same(kind, value, each.value) for value in given) for each in others)
    return known and last not in others and bool(_RESULT.search(text[others[-1].end : last.start]))


def _is_of_asked(text: str, known: Known) -> bool:
    """Whether the first person or thing that it tells of is the one that was asked about, if it tells of any."""
    for found in re.finditer(r"[A-Za-z]+", text):
        word = found.group().lower()
        if word in (name.lower() for name in known.get("focus", ())):
            return True
        if word in (name.lower() for name in known.get("others", ())) and not _BESIDE.search(text[: found.start()]):
            return False
    return True


def _has_right_roles(text: str, found: Sequence[Mention], roles: Known) -> bool:
    """Whether the relation is said of the one who was asked about, and to the other: not the other way round."""
    for name in re.finditer(r"[A-Za-z]+", text):
        if any(each.start <= name.start() < each.end for each in found):
            continue
        owner = re.match(r"'s |' | has ", text[name.end() :]) or re.search(r"\b(?:of|to|for) $", text[: name.start()])
        wrong = (name.group() == roles["asked"] and owner) or (name.group() == roles["to"] and not owner)
        if wrong or name.group() in roles["others"]:
            return False
    return True
