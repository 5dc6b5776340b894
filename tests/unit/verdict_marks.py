"""Classes of cases about further marks of a formula: orders, subscripts, brackets, roots, logarithms, markup."""

from __future__ import annotations

import random
from collections.abc import Iterator

from verdict_cases import LATEX, RIGHT, RIGHT_OR_OPEN, WRONG, Case, cases, two

MOLECULES = (("C", "O", 2), ("S", "O", 3), ("N", "O", 2), ("P", "F", 3), ("C", "S", 2), ("Si", "O", 2), ("N", "H", 3))
MORE_MOLECULES = (("Si", "F", 4), ("C", "H", 4), ("B", "F", 3), ("Al", "Cl", 3), ("O", "F", 2))
SINES = {0: "0", 30: r"\frac{1}{2}", 45: r"\frac{\sqrt{2}}{2}", 60: r"\frac{\sqrt{3}}{2}", 90: "1"}


@cases(LATEX)
def formula(rng: random.Random) -> Iterator[Case]:
    first, second, count = rng.choice(MOLECULES + MORE_MOLECULES)
    compound = f"{first}{second}_{count}"
    yield compound, rf"\text{{{first}{second}}}_{count}", RIGHT
    yield compound, rf"\mathrm{{{compound}}}", RIGHT
    yield compound, f"{first}_{count}{second}", WRONG
    yield compound, f"{first}{second}_{count + 1}", WRONG
    yield compound, rf"\text{{{first}{second}}}", WRONG
    yield "CO", r"\mathrm{Co}", WRONG
    yield f"{first}{second}", rf"\text{{{first}{second}O}}", WRONG


@cases(LATEX)
def trig_degrees(rng: random.Random) -> Iterator[Case]:
    angle, other = rng.sample(sorted(SINES), 2)
    yield SINES[angle], rf"\sin {angle}^\circ", RIGHT_OR_OPEN
    yield SINES[angle], rf"\sin {other}^\circ", WRONG
    yield SINES[angle], rf"\cos {90 - angle}^\circ", RIGHT_OR_OPEN
    sharp = rng.randrange(11, 44)
    yield rf"\sin {sharp}^\circ", rf"\cos {90 - sharp}^\circ", RIGHT_OR_OPEN
    yield rf"\sin {sharp}^\circ", rf"\cos {sharp}^\circ", WRONG
    yield rf"\sin {sharp}^\circ", rf"\sin {sharp}", WRONG


@cases(LATEX)
def logarithms(rng: random.Random) -> Iterator[Case]:
    base, power = rng.choice([2, 3, 5, 10]), rng.randrange(2, 6)
    yield f"{power}", rf"\log_{{{base}}} {base**power}", RIGHT_OR_OPEN
    yield f"{power}", rf"\log_{{{base + 1}}} {base**power}", WRONG
    yield f"{power}", rf"\log_{{{base}}} {base ** (power + 1)}", WRONG
    yield rf"\ln {base}", rf"\log_{{{base + 9}}} {base}", WRONG
    yield f"{power}", rf"\ln e^{power}", RIGHT_OR_OPEN
    yield rf"\log_2 {base + 1}", rf"\log_4 {base + 1}", WRONG


@cases(LATEX)
def subscripts(rng: random.Random) -> Iterator[Case]:
    (first, second), letter = two(rng, 1, 9), rng.choice("axpq")
    yield f"{letter}_{first} + 1", f"{letter}_{second} + 1", WRONG
    yield f"{letter}_{first} + 1", f"{letter}_{{{first}}} + 1", RIGHT
    yield f"{letter}_{first} + 1", f"{letter} + 1", WRONG
    yield f"{letter}_{{n+{first}}}", f"{letter}_n+{first}", WRONG
    yield f"{letter}_{{n+{first}}}", f"{letter}_{{n-{first}}}", WRONG
    yield f"{first}{letter}_{second}", f"{second}{letter}_{first}", WRONG


@cases(LATEX)
def exponents_and_brackets(rng: random.Random) -> Iterator[Case]:
    first, second = sorted(two(rng, 2, 7))
    yield f"2^{{{first}^{second}}}", rf"2^{{{first} \cdot {second}}}", WRONG
    yield r"\sin^2 x", r"\sin(x^2)", WRONG
    yield f"-{first}^2", f"(-{first})^2", WRONG
    yield f"({first}a)^{second}", f"{first}a^{second}", WRONG
    yield f"({first}a)^2", f"{first * first}a^2", RIGHT
    yield f"{first}(x+{second})", f"{first}x+{second}", WRONG
    yield f"{first}(x+{second})", f"{first}x+{first * second}", RIGHT
    yield f"x^{first}", f"x^{{-{first}}}", WRONG
    yield f"x^{first}", f"x_{first}", WRONG


@cases(LATEX)
def roots(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 2, 30)
    yield rf"\sqrt{{x+{number}}}", rf"\sqrt{{x}}+{number}", WRONG
    yield rf"\sqrt{{x+{number}}}", f"x+{number}", WRONG
    yield rf"\sqrt{{x+{number}}}", rf"(x+{number})^{{1/2}}", RIGHT
    yield rf"\sqrt[3]{{x+{number}}}", rf"\sqrt{{x+{number}}}", WRONG
    yield rf"\frac{{{other}}}{{\sqrt{{{number}}}}}", rf"\frac{{{other}\sqrt{{{number}}}}}{{{number}}}", RIGHT
    yield rf"\frac{{{other}}}{{\sqrt{{{number}}}}}", rf"\frac{{{other}}}{{{number}}}", WRONG


@cases(LATEX)
def plus_minus(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 2, 40)
    yield rf"\pm {number}", f"{number}, -{number}", RIGHT
    yield rf"\pm {number}", f"{number}", WRONG
    yield rf"\pm {number}", f"-{number}", WRONG
    yield rf"{number} \pm \sqrt{{2}}", rf"{number} + \sqrt{{2}}", WRONG
    yield rf"x = \pm {number}", rf"x = \pm {other}", WRONG
    yield f"{number}", rf"\pm {number}", WRONG


@cases(LATEX)
def order_of_items(rng: random.Random) -> Iterator[Case]:
    first, second, third = rng.sample(range(-9, 40), 3)
    yield f"({first}, {second})", f"({second}, {first})", WRONG
    yield f"({first}, {second})", rf"\left({first}, {second}\right)", RIGHT
    yield f"{first}, {second}, {third}", f"{third}, {first}, {second}", RIGHT
    yield rf"\{{{first}, {second}\}}", rf"\{{{second}, {first}\}}", RIGHT
    yield f"{first}, {second}, {third}", f"{first}, {second}", WRONG
    yield f"({first}, {second}, {third})", f"({first}, {third}, {second})", WRONG


@cases(LATEX)
def equations(rng: random.Random) -> Iterator[Case]:
    slope, shift = two(rng, 2, 20)
    yield f"y = {slope}x + {shift}", f"{slope}x - y + {shift} = 0", RIGHT
    yield f"y = {slope}x + {shift}", f"x = {slope}y + {shift}", WRONG
    yield f"y = {slope}x + {shift}", f"y = {shift}x + {slope}", WRONG
    yield f"y = {slope}x + {shift}", f"2y = {2 * slope}x + {2 * shift}", RIGHT
    yield f"y = {slope}x + {shift}", f"{slope}x - y = {shift}", WRONG
    yield f"y = {slope}x + {shift}", f"y < {slope}x + {shift}", WRONG


@cases(LATEX)
def letters_of_an_expression(rng: random.Random) -> Iterator[Case]:
    first, second, letter, other = *two(rng, 2, 30), *rng.sample("abxyz", 2)
    yield f"{first}{letter}+{second}", f"{second} + {first}{letter}", RIGHT
    yield f"{first}{letter}+{second}", f"{first}{letter}-{second}", WRONG
    yield f"{first}{letter}+{second}", f"{second}{letter}+{first}", WRONG
    yield f"{first}{letter}+{second}{other}", f"{second}{letter}+{first}{other}", WRONG
    yield f"{first}{letter}+{second}", f"{first}{letter}", WRONG
    yield f"{first}", f"{first}{letter}", WRONG


@cases(LATEX)
def inverse_functions(rng: random.Random) -> Iterator[Case]:
    name, number = rng.choice(["sin", "cos", "tan"]), rng.randrange(2, 30)
    yield rf"\{name}^{{-1}}({number}x)", rf"\frac{{1}}{{\{name}({number}x)}}", WRONG
    yield rf"\{name}^{{-1}}({number}x)", rf"\arc{name}({number}x)", RIGHT_OR_OPEN
    yield rf"f^{{-1}}({number})", f"f({number})", WRONG
    yield rf"\{name}({number}x)", rf"\{name}h({number}x)", WRONG
    yield rf"\{name}({number}x)", rf"{number}\{name}(x)", WRONG


@cases(LATEX)
def signs_between(rng: random.Random) -> Iterator[Case]:
    first, second = rng.sample("abcdpq", 2)
    yield f"{first} < {second}", f"{first} > {second}", WRONG
    yield rf"{first} \leq {second}", f"{first} < {second}", WRONG
    yield f"{first} < {second}", f"{second} > {first}", RIGHT_OR_OPEN
    yield f"{first} = {second}", rf"{first} \neq {second}", WRONG
    yield rf"{first} \Rightarrow {second}", rf"{second} \Rightarrow {first}", WRONG
    yield rf"{first} \cup {second}", rf"{first} \cap {second}", WRONG
    yield rf"{first} \subset {second}", rf"{second} \subset {first}", WRONG
    yield rf"{first} \perp {second}", rf"{first} \parallel {second}", WRONG


@cases(LATEX)
def colour(rng: random.Random) -> Iterator[Case]:
    number, name = rng.randrange(2, 90), rng.choice(["red", "blue", "green", "magenta", "teal"])
    yield f"{number}", rf"\textcolor{{{name}}}{{{number}}}", RIGHT
    yield f"{number}", rf"\textcolor{{{name}}}{{1{number}}}", WRONG
    yield f"x+{number}", rf"\color{{{name}}} x+{number}", RIGHT
    yield f"x+{number}", rf"\color{{{name}}} x-{number}", WRONG
    yield f"-{number}", rf"{{\color{{{name}}}{number}}}", WRONG


@cases(LATEX)
def number_in_text(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 11, 90)
    yield f"{number}", rf"\text{{{number}}}", RIGHT
    yield f"{number}", rf"\text{{{number} marbles}}", RIGHT
    yield f"{number}", rf"\text{{{other} marbles}}", WRONG
    yield f"{number}", rf"\text{{There are {number} pairs}}", RIGHT_OR_OPEN
    yield f"{number}", rf"\text{{There are {other} pairs}}", WRONG
    yield f"{number}", rf"\mathbf{{{number}}}", RIGHT
    yield f"{number}.5", rf"\text{{{number}5 meters}}", WRONG


@cases(LATEX)
def figures_apart(rng: random.Random) -> Iterator[Case]:
    """Grids and sequences: a library would multiply their figures."""
    figures = rng.sample(range(1, 10), 4)
    turned = figures[1:] + figures[:1]
    sequence, other = (" ".join(map(str, row)) for row in (figures, turned))
    yield sequence, sequence, RIGHT
    yield sequence, other, WRONG
    yield f"[[{sequence},{other}]]", f"[[{sequence},{other}]]", RIGHT
    yield f"[[{sequence},{other}]]", f"[[{other},{sequence}]]", WRONG
    yield f"[[A 0 {figures[0]},0 B 0]]", f"[[0 A 0,B 0 {figures[0]}]]", WRONG


@cases(LATEX)
def sums_of_numbers(rng: random.Random) -> Iterator[Case]:
    first, second = two(rng, 2, 30)
    total = first + second + 7
    yield f"{first}+{second}+7={total}", f"{first} + {second} + 7 = {total}", RIGHT
    yield f"{first}+{second}+7={total}", f"{first + 1}+{second - 1}+7={total}", WRONG
    yield f"[[{first}+{second}+7={total}]]", f"[[{first}+{second + 1}+6={total}]]", WRONG


@cases(LATEX)
def signs_of_names(rng: random.Random) -> Iterator[Case]:
    letter, sign = rng.choice("CFJR"), rng.choice(["#", "++", "@"])
    yield f"{letter}{sign}", f"{letter}{sign}", RIGHT
    yield f"{letter}{sign}", rf"\text{{{letter}}}", WRONG
    yield rf"\text{{{letter}{sign} language}}", rf"\text{{{letter} language}}", WRONG
