"""Classes of cases about formulas: every mark that is part of a value, and what is equal in another form."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import comb, factorial

from verdict_cases import (
    LATEX,
    OPEN,
    RIGHT,
    RIGHT_OR_OPEN,
    WRONG,
    Case,
    cases,
    two,
)

LETTER_PAIRS = (("m", "M"), ("r", "R"), ("h", "H"), ("v", "V"), ("a", "A"), ("q", "Q"), ("t", "T"))


@cases(LATEX)
def letter_case(rng: random.Random) -> Iterator[Case]:
    small, large = rng.choice(LETTER_PAIRS)
    number = rng.randrange(2, 9)
    yield rf"\frac{{{small}}}{{{large}+{small}}}", rf"\frac{{{small}}}{{{small}+{large}}}", RIGHT
    yield rf"\frac{{{small}}}{{{large}+{small}}}", rf"\frac{{{large}}}{{{small}+{large}}}", WRONG
    yield f"{number}({large}^2-{small}^2)", f"{number}{large}^2 - {number}{small}^2", RIGHT
    yield f"{number}({large}^2-{small}^2)", f"{number}({small}^2-{large}^2)", WRONG
    yield f"{number}{large}", f"{number}{small}", WRONG
    yield f"{small} = {number}", f"{large} = {number}", WRONG


@cases(LATEX)
def primes(rng: random.Random) -> Iterator[Case]:
    number, letter = rng.randrange(2, 12), rng.choice("fgh")
    yield f"{letter}'(x) = {number}x", f"{letter}(x) = {number}x", WRONG
    yield f"{letter}'(x) = {number}x", rf"{letter}^{{\prime}}(x) = {number}x", RIGHT
    yield f"{letter}'(x) = {number}x", f"{letter}''(x) = {number}x", WRONG
    yield f"y' + {number}y = 0", f"y + {number}y = 0", WRONG
    yield f"y' + {number}y = 0", f"y' = -{number}y", RIGHT_OR_OPEN
    point = rng.choice("ABCPQ")
    yield f"{point}'", point, WRONG
    yield point, f"{point}'", WRONG


@cases(LATEX)
def derivatives(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(2, 30)
    yield rf"\frac{{dy}}{{dx}} = {number}x", rf"\frac{{dy}}{{dx}} = {number}x", RIGHT
    yield rf"\frac{{dy}}{{dx}} = {number}x", f"y = {number}x", WRONG
    yield rf"\frac{{dy}}{{dx}} = {number}x", rf"\frac{{dx}}{{dy}} = {number}x", WRONG
    yield rf"\dot{{x}} = {number}x", f"x = {number}x", WRONG
    yield rf"\dot{{x}} = {number}t", rf"\ddot{{x}} = {number}t", WRONG


@cases(LATEX)
def bars(rng: random.Random) -> Iterator[Case]:
    letter, other = rng.sample("xyzwABC", 2)
    mark = rng.choice([r"\bar", r"\overline", r"\hat", r"\tilde", r"\vec"])
    number = rng.randrange(2, 12)
    yield f"{number}{mark}{{{letter}}}", f"{number}{letter}", WRONG
    yield f"{number}{letter}", f"{number}{mark}{{{letter}}}", WRONG
    yield f"{number}{mark}{{{letter}}}", f"{number} {mark} {letter}", RIGHT_OR_OPEN
    yield f"{number}{mark}{{{letter}}}", f"{number}{mark}{{{other}}}", WRONG
    yield f"{letter} + {mark}{{{other}}}", f"{mark}{{{letter}}} + {other}", WRONG


@cases(LATEX)
def absolute_value(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(1, 30)
    yield f"|x-{number}|", f"x-{number}", WRONG
    yield f"|x-{number}|", rf"\lvert x-{number} \rvert", RIGHT
    yield f"|x-{number}|", f"|{number}-x|", RIGHT_OR_OPEN
    yield f"|x-{number}|", f"|x+{number}|", WRONG
    yield f"|x|-{number}", f"|x-{number}|", WRONG


@cases(LATEX)
def transpose(rng: random.Random) -> Iterator[Case]:
    letter = rng.choice("ABMPQX")
    a, b, c, d = rng.sample(range(1, 20), 4)
    yield f"{letter}^T", letter, WRONG
    yield letter, f"{letter}^T", WRONG
    yield f"{letter}^T", rf"{letter}^{{\top}}", RIGHT_OR_OPEN
    yield f"{letter}^{{-1}}", f"{letter}^T", WRONG
    matrix = rf"\begin{{pmatrix}}{a}&{b}\\{c}&{d}\end{{pmatrix}}"
    yield matrix, rf"\begin{{pmatrix}}{a}&{c}\\{b}&{d}\end{{pmatrix}}", WRONG
    yield matrix, rf"\begin{{bmatrix}}{a} & {b} \\ {c} & {d}\end{{bmatrix}}", RIGHT


@cases(LATEX)
def dot_cross(rng: random.Random) -> Iterator[Case]:
    first, second = rng.sample("abuvwpqF", 2)
    dot, cross = rf"\vec {first} \cdot \vec {second}", rf"\vec {first} \times \vec {second}"
    yield dot, cross, WRONG
    yield cross, dot, WRONG
    yield dot, rf"\vec {second} \cdot \vec {first}", RIGHT_OR_OPEN
    yield cross, rf"\vec {second} \times \vec {first}", WRONG
    yield rf"\nabla \cdot \mathbf{{{first}}}", rf"\nabla \times \mathbf{{{first}}}", WRONG
    left, right = two(rng, 2, 12)
    yield f"{left * right}", rf"{left} \times {right} = {left * right}", RIGHT


@cases(LATEX)
def infinity_sign(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(1, 40)
    yield r"\infty", r"-\infty", WRONG
    yield r"\infty", r"+\infty", RIGHT
    yield r"-\infty", r"\infty", WRONG
    yield rf"(-\infty, {number})", rf"({number}, \infty)", WRONG
    yield rf"(-\infty, {number})", f"x < {number}", RIGHT
    yield rf"({number}, \infty)", rf"({number}, +\infty)", RIGHT
    yield rf"({number}, \infty)", r"(-\infty, \infty)", WRONG


@cases(LATEX)
def names_before_equals(rng: random.Random) -> Iterator[Case]:
    (first, second), (name, other) = two(rng, 1, 40), rng.sample("xyzkmn", 2)
    yield f"{name} = {first}", f"{other} = {first}", WRONG
    yield f"{name} = {first}", f"{first}", RIGHT
    yield f"{first}", f"{name} = {first}", RIGHT
    yield f"{name} = {first}, {other} = {second}", f"{other} = {second},\\ {name} = {first}", RIGHT
    yield f"{name} = {first}, {other} = {second}", f"{name} = {second}, {other} = {first}", WRONG


@cases()
def names_of_people(rng: random.Random) -> Iterator[Case]:
    first, second = two(rng, 2, 60)
    one, other = rng.sample(["Alice", "Bob", "Carla", "Dan", "Eve"], 2)
    yield f"{one}: {first}, {other}: {second}", f"{other} has {second} and {one} has {first}.", RIGHT_OR_OPEN
    yield f"{one}: {first}, {other}: {second}", f"{one} has {second} and {other} has {first}.", WRONG
    yield f"{one}: {first}, {other}: {second}", f"**Answer:** {one}: {second}, {other}: {first}", WRONG
    yield f"{one}: {first}, {other}: {second}", f"**Answer:** {other}: {second}, {one}: {first}", RIGHT_OR_OPEN


@cases(LATEX)
def right_side_alone(rng: random.Random) -> Iterator[Case]:
    number, name = rng.randrange(2, 40), rng.choice("xynk")
    yield f"{number}", f"{name} = {number}", RIGHT
    sides = rng.sample([f"{name}^2", f"2{name}", rf"\sqrt{{{name}}}", f"{name}+1", f"\\log {name}", f"{number + 1}"], 3)
    for side in sides:
        yield f"{number}", f"{side} = {number}", WRONG
    sign = rng.choice([">", "<", r"\neq", r"\geq"])
    yield f"{number}", f"{name} {sign} {number}", WRONG


@cases(LATEX)
def chains(rng: random.Random) -> Iterator[Case]:
    (first, second), name = two(rng, 2, 40), rng.choice("xynk")
    yield f"{second}", f"{name} = {first} = {second}", WRONG
    yield f"{first}", f"{name} = {first} = {second}", WRONG
    yield f"{first}", rf"{name} = \frac{{{2 * first}}}{{2}} = {first}", RIGHT
    yield f"{first}", rf"{name} = \sqrt{{{first**2}}} = {first}", RIGHT
    yield f"{first}", rf"{name} = \frac{{{2 * first}}}{{2}} = {second}", WRONG


@cases(LATEX)
def sum_bounds(rng: random.Random) -> Iterator[Case]:
    first, second = two(rng, 2, 9)
    yield rf"\sum_{{k=1}}^{{n}} k^{first}", rf"\sum_{{k=1}}^{{n-1}} k^{first}", WRONG
    yield rf"\sum_{{k=1}}^{{n}} k^{first}", rf"\sum_{{i=1}}^{{n}} i^{first}", RIGHT_OR_OPEN
    yield rf"\sum_{{k=1}}^{{n}} k^{first}", rf"\sum_{{k={second}}}^{{n}} k^{first}", WRONG
    yield rf"\int_0^{first} f(x)\,dx", rf"\int_0^{second} f(x)\,dx", WRONG
    yield rf"\int_0^{first} f(x)\,dx", rf"\int_0^{first} f(t)\,dt", RIGHT_OR_OPEN
    yield r"\prod_{k=1}^{n} a_k", r"\sum_{k=1}^{n} a_k", WRONG
    yield rf"\lim_{{x\to {first}}} f(x)", rf"\lim_{{x\to {second}}} f(x)", WRONG


@cases(LATEX)
def moduli(rng: random.Random) -> Iterator[Case]:
    modulus, other = rng.sample([5, 7, 9, 11, 13], 2)
    rest, wrong = rng.sample(range(1, min(modulus, other)), 2)
    reference = rf"x \equiv {rest} \pmod{{{modulus}}}"
    yield reference, rf"x \equiv {rest} \pmod{{{other}}}", WRONG
    yield reference, rf"x \equiv {wrong} \pmod{{{modulus}}}", WRONG
    yield reference, rf"x \equiv {rest}\ (\mathrm{{mod}}\ {modulus})", RIGHT
    yield reference, rf"x \equiv {rest - modulus} \pmod{{{modulus}}}", RIGHT_OR_OPEN
    yield reference, rf"x \equiv {rest} \bmod {modulus}", RIGHT_OR_OPEN
    yield f"{rest}", rf"{rest} \pmod{{{modulus}}}", OPEN
    yield f"{rest}", rf"x \equiv {rest} \pmod{{{modulus}}}", OPEN


@cases(LATEX)
def interval_brackets(rng: random.Random) -> Iterator[Case]:
    low, high = sorted(two(rng, -9, 20))
    yield f"[{low}, {high})", f"({low}, {high})", WRONG
    yield f"[{low}, {high})", f"[{low}, {high}]", WRONG
    yield f"({low}, {high}]", f"[{low}, {high})", WRONG
    yield f"[{low}, {high})", rf"\left[{low}, {high}\right)", RIGHT
    yield f"[{low}, {high})", rf"{low} \leq x < {high}", RIGHT
    yield f"[{low}, {high})", rf"{low} < x \leq {high}", WRONG
    yield f"({low}, {high})", f"]{low}, {high}[", RIGHT_OR_OPEN


@cases(LATEX)
def all_real_numbers(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(1, 30)
    yield r"(-\infty, \infty)", r"\mathbb{R}", RIGHT_OR_OPEN
    yield r"(-\infty, \infty)", r"\mathbb{R}^+", WRONG
    without = rf"(-\infty,{number})\cup({number},\infty)"
    yield without, rf"\mathbb{{R}}\setminus\{{{number}\}}", RIGHT_OR_OPEN
    yield without, rf"\mathbb{{R}}\setminus\{{-{number}\}}", WRONG
    yield without, rf"x \neq {number}", RIGHT_OR_OPEN
    yield without, r"\mathbb{R}", WRONG


@cases(LATEX)
def flipped_inequality(rng: random.Random) -> Iterator[Case]:
    low, high = sorted(two(rng, -9, 30))
    yield f"x > {low}", f"{low} < x", RIGHT
    yield f"x > {low}", f"{low} > x", WRONG
    yield f"x > {low}", rf"x \geq {low}", WRONG
    yield f"{low} < x < {high}", f"{high} > x > {low}", RIGHT
    yield f"{low} < x < {high}", rf"x < {low} \text{{ or }} x > {high}", WRONG
    yield rf"x \leq {high}", rf"{high} \geq x", RIGHT


@cases(LATEX)
def antiderivatives(rng: random.Random) -> Iterator[Case]:
    number, shift = two(rng, 2, 12)
    yield f"{number}x^2 + C", f"{number}x^2 + c", RIGHT
    yield f"{number}x^2 + C", f"{number}x^2 + {shift} + C", RIGHT
    yield f"{number}x^2 + C", f"{number + 1}x^2 + C", WRONG
    yield f"{number}x^2 + C", f"{number}x^2", OPEN
    yield rf"\frac{{{number}}}{{2}}\sin^2 x + C", rf"-\frac{{{number}}}{{2}}\cos^2 x + C", RIGHT
    yield rf"\frac{{{number}}}{{2}}\sin^2 x + C", rf"\frac{{{number}}}{{2}}\cos^2 x + C", WRONG
    yield rf"{number}\ln|x| + C", rf"{number}\ln|x+1| + C", WRONG


@cases(LATEX)
def ceil_floor(rng: random.Random) -> Iterator[Case]:
    whole, part = rng.randrange(2, 30), rng.randrange(1, 9)
    value = f"{whole}.{part}"
    yield f"{whole + 1}", rf"\lceil {value} \rceil", RIGHT
    yield f"{whole}", rf"\lfloor {value} \rfloor", RIGHT
    yield f"{whole}", rf"\lceil {value} \rceil", WRONG
    yield r"\lceil n/2 \rceil", r"\left\lfloor \frac{n+1}{2}\right\rfloor", RIGHT_OR_OPEN
    yield rf"\lceil n/{part + 1} \rceil", rf"\left\lfloor \frac{{n}}{{{part + 1}}}\right\rfloor", WRONG
    yield rf"\lceil n/{part + 1} \rceil", rf"\left\lceil \frac{{n}}{{{part + 1}}}\right\rceil", RIGHT


@cases(LATEX)
def factorials(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(3, 10)
    yield f"{factorial(number)}", f"{number}!", RIGHT
    yield f"{number}", rf"{number}! \text{{ ways}}", WRONG
    yield f"{factorial(number) * 2}", f"{number}!", WRONG
    yield rf"\frac{{{number + 2}!}}{{{number}!}}", f"{(number + 2) * (number + 1)}", RIGHT


@cases()
def exclamation_marks(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(3, 90)
    yield f"{number}", f"So in total she has {number} apples!", RIGHT
    yield f"{number}", f"So the answer is {number}!", RIGHT_OR_OPEN
    yield f"{number + 1}", f"So the answer is {number}!", WRONG
    yield f"{number}", rf"So there are $\boxed{{{number}!}}$ ways.", WRONG


@cases(LATEX)
def binomials(rng: random.Random) -> Iterator[Case]:
    above = rng.randrange(5, 13)
    below = rng.randrange(2, (above + 1) // 2)
    value = f"{comb(above, below)}"
    yield value, f"C({above},{below})", RIGHT
    yield value, rf"\binom{{{above}}}{{{below}}}", RIGHT
    yield value, f"{{}}_{{{above}}}C_{{{below}}}", RIGHT_OR_OPEN
    yield value, rf"\binom{{{above}}}{{{below - 1}}}", WRONG
    yield value, f"C({above},{below - 1})", WRONG
    yield value, f"P({above},{below})", WRONG
    yield rf"\binom{{n}}{{{below}}}", rf"\binom{{n}}{{{below + 1}}}", WRONG
