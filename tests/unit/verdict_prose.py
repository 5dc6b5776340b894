"""Classes of cases about answers in sentences, in several boxes, withdrawn, hedged or hidden."""

from __future__ import annotations

import random
from collections.abc import Iterator

from verdict_cases import (
    LATEX,
    NUMERALS,
    OPEN,
    PROSE,
    RIGHT,
    RIGHT_OR_OPEN,
    WORDS,
    WRONG,
    Case,
    cases,
    two,
)

ANAGRAMS = (
    ("Amy", "May"),
    ("LISTEN", "SILENT"),
    ("north", "thorn"),
    ("earth", "heart"),
    ("night", "thing"),
    ("Leon", "Noel"),
    ("stone", "notes"),
    ("Brian", "Brain"),
    ("tea", "eat"),
    ("east", "seat"),
    ("angle", "angel"),
    ("lemon", "melon"),
)
CLAIMS = ("the triangle is right-angled", "the series converges", "the function is even", "it is possible")
DENIALS = ("the triangle is not right-angled", "the series does not converge", "the function is not even")


@cases(PROSE)
def text_dropped(rng: random.Random) -> Iterator[Case]:
    number, total = rng.randrange(4, 40), rng.randrange(60, 200)
    yield f"{number}", f"{number} less than {total}", WRONG
    yield f"{number}", f"{number} more than the other", WRONG
    yield f"{number}", f"{number} plus the original amount", WRONG
    yield f"{number}", f"the square of {number}", WRONG
    yield f"{number}", f"twice {number}", WRONG
    yield f"{number}", f"half of {number}", WRONG
    yield f"{number}", f"{number} times as many as before", WRONG
    yield f"{number}", f"{number} in all", RIGHT
    yield f"{number}", f"{number} altogether", RIGHT_OR_OPEN


@cases()
def values_after_an_operation(rng: random.Random) -> Iterator[Case]:
    number, total = rng.randrange(4, 40), rng.randrange(60, 200)
    yield f"{total - number}", f"The answer is {number} less than {total}, that is, {total - number}.", RIGHT_OR_OPEN
    yield f"{number}", f"The answer is {number} less than {total}, that is, {total - number}.", WRONG
    yield f"{number}", f"The answer is not {number}.", WRONG
    yield f"{number}", f"The answer is less than {number}.", WRONG
    yield f"{number}", f"The answer is at least {number}.", WRONG
    yield f"{number}", f"The answer is a multiple of {number}.", WRONG
    yield f"{number}", f"The answer is the square root of {number}.", WRONG
    yield f"{2 * number}", f"The answer is twice {number}, so {2 * number}.", RIGHT_OR_OPEN


@cases(WORDS)
def negated_words(rng: random.Random) -> Iterator[Case]:
    word = rng.choice(["prime", "even", "odd", "convergent", "continuous", "rational", "bounded", "injective"])
    yield word, f"not {word}", WRONG
    yield f"not {word}", word, WRONG
    yield f"not {word}", f"not {word}", RIGHT
    yield word, word, RIGHT


@cases(WORDS)
def anagram_words(rng: random.Random) -> Iterator[Case]:
    first, second = rng.sample(rng.choice(ANAGRAMS), 2)
    yield first, second, WRONG
    yield first, first, RIGHT


@cases()
def yes_no_sentences(rng: random.Random) -> Iterator[Case]:
    claim, denial = rng.choice(CLAIMS), rng.choice(DENIALS)
    yield "Yes", f"Yes, {claim}.", RIGHT
    yield "Yes", f"No, {denial}.", WRONG
    yield "No", f"No, {denial}.", RIGHT
    yield "No", f"Yes, {claim}.", WRONG
    yield "Yes", rf"\boxed{{\text{{Yes, {claim}.}}}}", RIGHT
    yield "No", rf"\boxed{{\text{{Yes, {claim}.}}}}", WRONG
    word, other = rng.sample(["true", "false"], 2)
    yield word.title(), f"The statement is {word}.", RIGHT
    yield word.title(), f"The statement is {other}.", WRONG
    yield "True", "The statement is not true.", WRONG
    yield f"{rng.choice(['Yes', 'True'])}", "**Answer:** It cannot be decided.", WRONG


@cases()
def values_in_prose(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 2, 12)
    things = rng.choice(["lines", "triples", "triangles", "solutions", "ways"])
    yield f"{number}", f"There are {NUMERALS[number]} such {things}.", RIGHT
    yield f"{number}", f"There are {NUMERALS[other]} such {things}.", WRONG
    yield "0", f"There are no such {things} at all.", RIGHT_OR_OPEN
    yield "0", f"There is exactly one of these {things}.", WRONG
    yield "0", f"There are {NUMERALS[number]} such {things}.", WRONG
    yield f"{number}", f"There are no such {things} at all.", WRONG


@cases()
def prose_lists(rng: random.Random) -> Iterator[Case]:
    first, second, third, other = rng.sample(range(2, 13), 4)
    reference = f"{first}, {second}, {third}"
    words = [NUMERALS[number] for number in (first, second, third, other)]
    yield reference, f"The numbers in question are {words[0]}, {words[1]} and {words[2]}.", RIGHT_OR_OPEN
    yield reference, f"The numbers in question are {words[0]}, {words[1]} and {words[3]}.", WRONG
    yield reference, f"The answer is {first}, {second} and {third}.", RIGHT
    yield reference, f"The answer is {first}, {second} and {other}.", WRONG
    yield reference, f"The solutions are:\n- {first}\n- {second}\n- {third}", RIGHT_OR_OPEN
    yield reference, f"The solutions are:\n- {first}\n- {second}", WRONG
    yield reference, f"The answer is {first} and {second}.", WRONG


@cases()
def or_maybe(rng: random.Random) -> Iterator[Case]:
    first, second = two(rng, 2, 20)
    yield f"{first}, -{second}", f"So the roots are $x = {first}$ or $x = -{second}$.", RIGHT
    yield f"{first}, -{second}", f"So the roots are $x = {first}$ or $x = {second}$.", WRONG
    yield f"{first}", f"The answer is {first} or {second}.", WRONG
    yield f"{first}", f"Maybe there is an easier way.\n\nThe answer is {first}.", RIGHT
    yield f"{first}", f"Maybe there is an easier way.\n\nThe answer is {second}.", WRONG


@cases()
def hedges(rng: random.Random) -> Iterator[Case]:
    first, second = two(rng, 4, 60)
    yield f"{first}", f"It could be {first}, but I am not sure; it might also be {second}.", WRONG
    yield f"{first}", f"The answer is either {first} or {second}.", WRONG
    yield f"{first}", f"The answer is {first} or maybe {second}.", WRONG
    yield f"{first}", rf"Possible answers: \boxed{{{first}}}, \boxed{{{second}}}, \boxed{{{first + second}}}", WRONG
    yield f"{first}", f"The answer is about {first}.", OPEN
    yield f"{first}", f"It is not {second}, so the answer is {first}.", RIGHT
    yield f"{first}", f"At first I was not sure, but after checking, the answer is {first}.", RIGHT
    yield f"{second}", f"It is not {second}, so the answer is {first}.", WRONG
    yield f"{first}", f"The answer lies between {first} and {first + second}.", WRONG


@cases()
def last_stated_answer(rng: random.Random) -> Iterator[Case]:
    first, second = two(rng, 4, 90)
    yield f"{second}", f"The answer is {first}. No, I forgot one.\n\nThe answer is {second}.", RIGHT
    yield f"{first}", f"The answer is {first}. No, I forgot one.\n\nThe answer is {second}.", WRONG
    yield f"{second}", f"A first guess is {first}.\n\nFinal answer: {second}", RIGHT
    yield f"{first}", f"A first guess is {first}.\n\nFinal answer: {second}", WRONG
    yield f"{first}", f"<think>The answer is {first}.</think>The answer is {second}.", WRONG
    yield f"{second}", f"<think>The answer is {first}.</think>The answer is {second}.", RIGHT
    yield f"{first}", f"Is the answer {first}?", WRONG


@cases()
def corrected_box(rng: random.Random) -> Iterator[Case]:
    first, second = two(rng, 4, 90)
    text = rf"First I get \boxed{{{first}}}. Wait, I forgot a case. The correct answer is \boxed{{{second}}}."
    yield f"{second}", text, RIGHT
    yield f"{first}", text, WRONG
    again = rf"{text}" + "\n\n" + rf"**Final answer:** \boxed{{{second}}}"
    yield f"{second}", again, RIGHT
    yield f"{first}", again, WRONG
    signs = rf"So x = \boxed{{{first}}}. Hmm, the sign is wrong: x = -{first}." + f"\n\nAnswer: \\boxed{{-{first}}}"
    yield f"-{first}", signs, RIGHT
    yield f"{first}", signs, WRONG


@cases()
def boxes_of_parts(rng: random.Random) -> Iterator[Case]:
    first, second, third = rng.sample(range(2, 90), 3)
    reference = f"(a) {first} (b) {second} (c) {third}"
    lines = r"(a) \boxed{@}|(b) \boxed{@}|(c) \boxed{@}".replace("|", "\n\n")
    for order, allowed in (((first, second, third), RIGHT), ((first, third, second), WRONG)):
        text = lines
        for number in order:
            text = text.replace("@", str(number), 1)
        yield reference, text, allowed
    yield f"{first}, {second}", rf"The solutions are $\boxed{{{first}}}$ and $\boxed{{{second}}}$.", RIGHT
    yield f"{first}, {second}", rf"The solutions are $\boxed{{{first}}}$ and $\boxed{{{third}}}$.", WRONG
    point = rf"The x-coordinate is \boxed{{{first}}} and the y-coordinate is \boxed{{-{second}}}."
    yield f"({first}, -{second})", point, RIGHT_OR_OPEN
    yield f"(-{second}, {first})", point, WRONG
    parts = r"**Part (1).** The total is $\boxed{@}$.|**Part (2).** Now add: $\boxed{#}$.".replace("|", "\n\n")
    yield f"(1) {first}; (2) {second}", parts.replace("@", str(first)).replace("#", str(second)), RIGHT
    yield f"(1) {first}; (2) {second}", parts.replace("@", str(second)).replace("#", str(first)), WRONG


@cases()
def hidden_box(rng: random.Random) -> Iterator[Case]:
    shown, hidden = two(rng, 2, 99)
    for hide in (
        "The answer is {}.\n% \\boxed{{{}}}",
        "Final answer: {}\n<!-- \\boxed{{{}}} -->",
        "The answer is {}. \\phantom{{\\boxed{{{}}}}}",
        "The answer is {}. \\color{{white}}{{\\boxed{{{}}}}}",
        "The answer is {}. $\\textcolor{{white}}{{\\boxed{{{}}}}}$",
        "<!-- The answer is {1}. -->The answer is {0}.",
    ):
        text = hide.format(shown, hidden)
        yield f"{hidden}", text, WRONG
        yield f"{shown}", text, RIGHT_OR_OPEN
    yield f"{shown}", rf"The answer is \boxed{{{shown}}}. % done", RIGHT
    yield f"{shown}", f"<!-- steps checked -->\nFinal answer: \\boxed{{{shown}}}", RIGHT


@cases()
def hidden_alone(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(2, 99)
    yield f"{number}", f"I could not find it.\n% \\boxed{{{number}}}", WRONG
    yield f"{number}", f"I could not find it. <!-- \\boxed{{{number}}} -->", WRONG
    yield f"{number}", rf"I could not find it. $\phantom{{\boxed{{{number}}}}}$", WRONG
    yield f"{number}", rf"I could not find it. $\textcolor{{white}}{{\boxed{{{number}}}}}$", WRONG
    yield f"{number}", f"Half of it is 50\\% of the sum, which gives \\boxed{{{number}}}.", RIGHT
    yield f"{number}", f"The share is 5 \n%. So it is \\boxed{{{number}}}.", RIGHT


@cases()
def choice_with_value(rng: random.Random) -> Iterator[Case]:
    (letter, other), number = rng.sample("ABCDE", 2), rng.randrange(2, 60)
    yield letter, rf"\boxed{{\textbf{{({letter})}}\ {number}}}", RIGHT
    yield letter, rf"\boxed{{\textbf{{({other})}}\ {number}}}", WRONG
    yield f"{number}", rf"\boxed{{\textbf{{({letter})}}\ {number}}}", RIGHT
    yield f"{number + 1}", rf"\boxed{{\textbf{{({letter})}}\ {number}}}", WRONG
    yield letter, f"The correct option is {letter}) {number} cm.", RIGHT
    yield letter, f"The correct option is {other}) {number} cm.", WRONG
    yield letter, f"Option {letter}: {number} is the answer.", RIGHT
    yield letter, f"The answer is {other}. Note that {letter} is a common distractor.", WRONG
    yield letter, f"It is not {other}, the answer is {letter}", RIGHT
    yield other, f"It is not {other}, the answer is {letter}", WRONG


@cases(
    (
        "所以答案是@。",
        "**答案：** @",
        "因此，最终答案为 @。",
        "答案是：@",
    )
)
def chinese(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 12, 400)
    yield f"{number}", f"{number}", RIGHT
    yield f"{number}", f"{other}", WRONG
    yield f"{number}", f"{number}个", RIGHT
    yield f"{number}", f"{other}个", WRONG


@cases(
    (
        "Die Antwort ist @.",
        "**Antwort:** @",
        "Die Antwort lautet @.",
        "La réponse est @.",
        "**Réponse :** @",
        "La respuesta es @.",
        "**Respuesta:** @",
        "Le résultat est donc @.",
    )
)
def european_languages(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 12, 400)
    yield f"{number}", f"{number}", RIGHT
    yield f"{number}", f"{other}", WRONG
    yield f"{number / 10}", f"{number / 10}".replace(".", ","), RIGHT
    yield f"{number / 10}", f"{other / 10}".replace(".", ","), WRONG


@cases(WORDS)
def bare_words_that_change_nothing(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 3, 90)
    yield f"{number}", f"exactly {number}", RIGHT
    yield f"{number}", f"equal to {number}", RIGHT_OR_OPEN
    yield f"{number}", f"exactly {other}", WRONG
    yield f"{number}", f"a total of {number}", RIGHT_OR_OPEN
    yield f"{number}", f"a total of {other}", WRONG
    yield f"{number}", f"{number} per {other}", WRONG
    yield f"{number}", f"{number} minus {other}", WRONG


@cases(LATEX)
def words_beside_a_value(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 3, 90)
    yield f"{number}", rf"{number} \text{{ less than }} {number + other}", WRONG
    yield f"{number}", rf"\text{{not }} {number}", WRONG
    yield f"{number}", rf"{number} \text{{ if }} x > {other}", WRONG
    yield f"{number}", rf"{number} \text{{ or }} {other}", WRONG
    yield f"{number}, {other}", rf"{number} \text{{ and }} {other}", RIGHT
    yield f"{number}", rf"\text{{at most }} {number}", WRONG


@cases()
def quoted_answers(rng: random.Random) -> Iterator[Case]:
    first, second = two(rng, 3, 90)
    yield f"{first}", rf"A friend wrote \boxed{{{first}}}, which is wrong. The answer is \boxed{{{second}}}.", WRONG
    yield (
        f"{second}",
        rf"A friend wrote \boxed{{{first}}}, which is wrong. The answer is \boxed{{{second}}}.",
        RIGHT_OR_OPEN,
    )
    yield f"{first}", f'The question asks whether "the answer is {first}" is true.\n\nThe answer is {second}.', WRONG
    yield f"{second}", f'The question asks whether "the answer is {first}" is true.\n\nThe answer is {second}.', RIGHT
    yield (
        f"{first}",
        rf"Put your final answer in a box, for instance \boxed{{{first}}}. I do not know the answer.",
        WRONG,
    )
    yield f"{first}", f"If the answer were {first}, the sum would be odd. So the answer is {second}.", WRONG
    yield f"{second}", f"If the answer were {first}, the sum would be odd. So the answer is {second}.", RIGHT
