"""Classes of cases about how numbers are written: points, signs, digits, separators, rounding, bases, ratios."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from math import gcd

from verdict_cases import (
    BOXES,
    LATEX,
    NUMERALS,
    OPEN,
    PLAIN,
    RIGHT,
    RIGHT_OR_OPEN,
    WORDS,
    WRONG,
    Case,
    cases,
    tidy,
    two,
)

MINUS_SIGNS = "\u2212\u2011\u2013\uff0d\ufe63"
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
FRACTIONS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5"} | {
    "⅘": "4/5",
    "⅙": "1/6",
    "⅚": "5/6",
    "⅛": "1/8",
    "⅜": "3/8",
    "⅝": "5/8",
    "⅞": "7/8",
}
SCRIPTS = ("０１２３４５６７８９", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९", "๐๑๒๓๔๕๖๗๘๙")


def digits(rng: random.Random, count: int) -> str:
    """Digits. The first and the last are not 0, and no two neighbours are equal."""
    found = ""
    while len(found) < count:
        figure = rng.choice("123456789")
        found += figure if not found.endswith(figure) else ""
    return found


def swapped(number: str) -> str:
    """The last two of the figures in the other order."""
    return number[:-2] + number[-1] + number[-2]


@cases(PLAIN)
def leading_point(rng: random.Random) -> Iterator[Case]:
    figures = digits(rng, rng.choice([1, 2, 3]))
    sign = rng.choice(["", "-"])
    yield f"{sign}0.{figures}", f"{sign}.{figures}", RIGHT
    yield f"{sign}0.{figures}", f"{sign}.0{figures}", WRONG
    yield f"-0.{figures}", f".{figures}", WRONG
    yield f"{sign}.{figures}", f"{sign}0.{figures}", RIGHT


@cases(BOXES)
def point_as_integer(rng: random.Random) -> Iterator[Case]:
    number = digits(rng, rng.choice([1, 2]))
    yield number, f".{number}", WRONG
    yield number, f"{number}.", RIGHT
    yield f"{number}.0", f"{number}.", RIGHT
    yield f"{number}.5", f".{number}5", WRONG


@cases(PLAIN)
def leading_zeros(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(1, 99)
    yield f"{number:03d}", f"{number}", RIGHT
    yield f"{number:03d}", f"{number}0", WRONG
    yield f"{number}", f"{number:03d}", RIGHT


@cases(PLAIN)
def unicode_minus(rng: random.Random) -> Iterator[Case]:
    number, sign = rng.randrange(2, 400), rng.choice(MINUS_SIGNS)
    yield f"-{number}", f"{sign}{number}", RIGHT
    yield f"{number}", f"{sign}{number}", WRONG
    yield f"x-{number}", f"x {rng.choice(MINUS_SIGNS[0::2])} {number}", RIGHT
    yield f"x+{number}", f"x {sign} {number}", WRONG


@cases(PLAIN)
def unicode_superscript(rng: random.Random) -> Iterator[Case]:
    power, other = (str(number).translate(SUPERSCRIPTS) for number in two(rng, 2, 14))
    number, plain = rng.randrange(1, 60), power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))
    yield f"x^{{{plain}}}+{number}", f"x{power} + {number}", RIGHT
    yield f"x^{{{plain}}}+{number}", f"x{other} + {number}", WRONG
    yield f"10^{{-{plain}}}", f"10⁻{power}", RIGHT
    yield f"10^{{-{plain}}}", f"10⁻{other}", WRONG
    yield f"10^{{-{plain}}}", f"10{power}", WRONG


@cases(PLAIN)
def unicode_power_as_digits(rng: random.Random) -> Iterator[Case]:
    base, power = rng.randrange(2, 12), rng.randrange(2, 8)
    written = f"{base}{str(power).translate(SUPERSCRIPTS)}"
    yield f"{base**power}", written, RIGHT
    yield f"{base}{power}", written, WRONG
    yield f"x^{{{power}}}", f"x{str(power).translate(SUPERSCRIPTS)}", RIGHT
    yield f"{base * power + (base == power == 2)}", written, WRONG


@cases(PLAIN)
def unicode_fractions(rng: random.Random) -> Iterator[Case]:
    sign, other = rng.sample(sorted(FRACTIONS), 2)
    above, _, below = FRACTIONS[sign].partition("/")
    whole = rng.randrange(2, 9)
    yield f"\\frac{{{above}}}{{{below}}}", sign, RIGHT
    yield FRACTIONS[other], sign, WRONG
    yield FRACTIONS[sign], f"{above}\u2044{below}", RIGHT_OR_OPEN
    yield f"{whole * int(below) + int(above)}/{below}", f"{whole}{sign}", RIGHT
    product = Fraction(whole) * Fraction(FRACTIONS[sign])
    yield f"{product.numerator}/{product.denominator}", f"{whole}{sign}", WRONG


@cases(PLAIN)
def digits_of_other_scripts(rng: random.Random) -> Iterator[Case]:
    number = digits(rng, rng.choice([2, 3, 4]))
    script = str.maketrans("0123456789", rng.choice(SCRIPTS))
    yield number, number.translate(script), RIGHT
    yield swapped(number), number.translate(script), WRONG


@cases((*PLAIN, "**Antwort:** @", "Il en faut donc @."))
def thin_space_thousands(rng: random.Random) -> Iterator[Case]:
    first, last = digits(rng, rng.choice([1, 2, 3])), digits(rng, 3)
    space = rng.choice(["\u2009", "\u202f", "\u00a0", r"\,", r"\ "])
    yield first + last, first + space + last, RIGHT
    yield first + swapped(last), first + space + last, WRONG
    yield f"{first}000", first + space + last, WRONG
    yield first + last, f"{first} {last}", RIGHT_OR_OPEN


@cases(LATEX)
def latex_separators(rng: random.Random) -> Iterator[Case]:
    first, last = digits(rng, rng.choice([1, 2, 3])), digits(rng, 3)
    mark = rng.choice(["{,}", r"\,", r"\;", r",\!"])
    yield first + last, first + mark + last, RIGHT
    yield first + swapped(last), first + mark + last, WRONG
    yield f"{first},{last}", rf"\${first}{{,}}{last}", RIGHT
    yield first, f"{first}{mark}000", WRONG


@cases()
def separators_after_equals(rng: random.Random) -> Iterator[Case]:
    first, last = digits(rng, rng.choice([1, 2])), digits(rng, 3)
    yield first + last, f"Total = {first},{last}", RIGHT
    yield first + swapped(last), f"Total = {first},{last}", WRONG
    yield first + last, rf"Cost = \${first},{last}.00", RIGHT
    yield f"{first}.{last}", rf"Cost = \${first},{last}.00", WRONG


@cases((*LATEX, "Die Lösung lautet $@$.", "La réponse est $@$."))
def decimal_comma(rng: random.Random) -> Iterator[Case]:
    whole, figures = rng.randrange(1, 30), digits(rng, 2)
    yield f"0.{figures}", f"0,{figures}", RIGHT
    yield f"0.{figures}", f"0,{swapped(figures)}", WRONG
    yield f"0.{figures}", f"0,0{figures}", WRONG
    yield f"{whole}.{figures}", f"{whole}{{,}}{figures}", RIGHT
    yield f"{whole}.{figures}", f"{whole}{{,}}{swapped(figures)}", WRONG
    yield f"{whole}.{figures}", f"{whole},{figures}", RIGHT_OR_OPEN
    yield f"{whole}.{figures}", f"{whole}, {figures}", WRONG


@cases(LATEX)
def thousands_comma(rng: random.Random) -> Iterator[Case]:
    first, last = digits(rng, rng.choice([1, 2, 3])), digits(rng, 3)
    yield first + last, f"{first},{last}", RIGHT
    yield f"{first}.{last}", f"{first},{last}", WRONG
    yield first + last, f"{first},{swapped(last)}", WRONG
    yield first, f"{first},{last}", WRONG
    yield first + last, f"{first}.{last}", WRONG
    yield first + last, f"{first}'{last}", RIGHT_OR_OPEN


@cases(LATEX)
def scientific_notation(rng: random.Random) -> Iterator[Case]:
    figures, power = digits(rng, 2), rng.randrange(2, 7)
    mantissa = f"{figures[0]}.{figures[1]}"
    small, large = "0." + "0" * (power - 1) + figures, figures + "0" * (power - 1)
    times = rng.choice([r"\times", r"\cdot", "×"])
    yield small, rf"{mantissa} {times} 10^{{-{power}}}", RIGHT
    yield large, rf"{mantissa} {times} 10^{{{power}}}", RIGHT
    yield small, rf"{mantissa} {times} 10^{{{power}}}", WRONG
    yield large, rf"{mantissa} {times} 10^{{{power + 1}}}", WRONG
    yield rf"{mantissa} \times 10^{{{power}}}", f"{mantissa}e{power}", RIGHT_OR_OPEN
    yield rf"{mantissa} \times 10^{{{power}}}", f"{mantissa}", WRONG


@cases(LATEX)
def rounded_scientific(rng: random.Random) -> Iterator[Case]:
    figures, power = digits(rng, 3), rng.choice([-19, -7, -4, 5, 8, 23])
    short, last = f"{figures[0]}.{figures[1:]}", rng.randrange(1, 5)
    above = f"{float(short) - last / 1000:.3f}"
    factor = rf" \times 10^{{{power}}}"
    yield short + factor, short + str(last) + factor, RIGHT
    yield short + str(last) + factor, short + factor, RIGHT
    yield short + factor, above + factor, RIGHT
    yield short + factor, rf"{short}{last} \times 10^{{{-power}}}", WRONG
    yield short + factor, f"{swapped(short)}{last}{factor}", WRONG


@cases(PLAIN)
def rounded_decimals(rng: random.Random) -> Iterator[Case]:
    whole, figures, last = rng.randrange(11, 99), digits(rng, 2), rng.randrange(1, 5)
    yield f"{whole}.{figures}{last}", f"{whole}.{figures}", RIGHT
    yield f"{whole}.{figures}", f"{whole}.{figures}{last}", RIGHT
    yield f"{whole}.{figures}{last}", f"{whole}.{swapped(figures)}", WRONG
    yield f"{whole}.{last}{figures}", f"{whole}", OPEN
    yield f"0.{figures[0]}{last}{figures}", f"0.{figures[0]}", OPEN


@cases(LATEX)
def rounding_exact(rng: random.Random) -> Iterator[Case]:
    below = rng.choice([4, 8, 16, 20, 25, 40])
    above = rng.choice([number for number in range(1, below) if gcd(number, below) == 1])
    yield f"{above}/{below}", tidy(above / below), RIGHT
    yield f"{above}/{below}", tidy(above / below + rng.choice([0.01, -0.01])), WRONG
    prime, root = rng.choice([7, 11, 13]), rng.choice([2, 3, 5, 6, 7, 10])
    part = rng.randrange(2, prime)
    yield rf"\frac{{{part}}}{{{prime}}}", f"{part / prime:.1f}", OPEN
    yield rf"\sqrt{{{root}}}", f"{root**0.5:.1f}", OPEN
    yield rf"\sqrt{{{root}}}", f"{root**0.5 + 0.31:.1f}", WRONG


@cases(LATEX)
def repeating_decimals(rng: random.Random) -> Iterator[Case]:
    figure, other = two(rng, 1, 8)
    yield f"\\frac{{{figure}}}{{9}}", rf"0.\overline{{{figure}}}", RIGHT
    yield f"0.{figure}", rf"0.\overline{{{figure}}}", WRONG
    yield f"0.{figure}{other}", rf"0.\overline{{{figure}{other}}}", WRONG
    yield rf"0.{figure}\overline{{{other}}}", rf"0.\overline{{{figure}{other}}}", WRONG
    yield f"\\frac{{{figure}{other}}}{{99}}", rf"0.\overline{{{figure}{other}}}", RIGHT


@cases(LATEX)
def mixed_numbers(rng: random.Random) -> Iterator[Case]:
    whole, below = rng.randrange(2, 12), rng.randrange(2, 9)
    above = rng.choice([number for number in range(1, below) if gcd(number, below) == 1])
    improper = f"{whole * below + above}/{below}"
    yield improper, rf"{whole}\frac{{{above}}}{{{below}}}", RIGHT
    yield rf"{whole}\frac{{{above}}}{{{below}}}", rf"{whole} \dfrac{{{above}}}{{{below}}}", RIGHT
    yield f"{whole * above}/{below}", rf"{whole}\frac{{{above}}}{{{below}}}", WRONG
    yield rf"{whole}\frac{{{above}}}{{{below}}}", rf"\frac{{{whole}{above}}}{{{below}}}", WRONG
    yield improper, f"{whole} {above}/{below}", RIGHT_OR_OPEN
    yield improper, rf"\text{{{NUMERALS[whole]} and a half}}", RIGHT if below == 2 else WRONG


@cases(LATEX)
def percent(rng: random.Random) -> Iterator[Case]:
    number = int(digits(rng, 2))
    yield rf"{number}\%", rf"{number}\%", RIGHT
    yield rf"{number}\%", rf"\frac{{{number}}}{{100}}", RIGHT
    yield rf"{number}\%", rf"\text{{{number} percent}}", RIGHT
    yield rf"{number}\%", rf"0.{number}\%", WRONG
    yield rf"{number}\%", rf"{number / 10}\%", WRONG
    yield rf"{number}\%", f"{number}", RIGHT_OR_OPEN
    yield f"0.{number}", rf"{number}\%", RIGHT


@cases(PLAIN)
def base_prefixes(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 160, 255)
    yield f"0x{number:X}", f"0x{number:x}", RIGHT
    yield f"0x{number:X}", f"0x{other:X}", WRONG
    yield f"{number:X}", f"0x{number:X}", RIGHT_OR_OPEN
    yield f"0b{number:b}", f"0b{other:b}", WRONG
    yield f"{number:b}", f"0b{other:b}", WRONG
    yield f"{number:b}", f"0b{number:b}", RIGHT_OR_OPEN
    yield f"{number}", f"0x{number}", OPEN
    yield f"{number}", f"0x{number:x}", RIGHT_OR_OPEN


@cases(LATEX)
def base_subscripts(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 9, 60)
    yield f"{number:b}_2", f"{number:b}_{{2}}", RIGHT
    yield f"{number:b}_2", f"{other:b}_2", WRONG
    yield f"{number:o}", f"{number:o}_{{10}}", RIGHT
    yield f"{number:o}", f"{number:o}_8", WRONG
    yield f"{number:b}_2", f"{number:b}_{{10}}", WRONG
    yield f"{number:b}_2", f"{number:b}_3", WRONG
    yield f"{number:b}_2", f"{number:b}", RIGHT_OR_OPEN  # the question asks for base 2
    yield f"{number:b}_2", f"{number:o}_8", RIGHT_OR_OPEN


@cases(WORDS)
def out_of(rng: random.Random) -> Iterator[Case]:
    below = rng.choice([5, 7, 8, 10, 12, 20])
    above, other = rng.sample(range(2, below), 2)
    yield f"{above}/{below}", f"{above} out of {below}", RIGHT
    yield f"{above}/{below}", f"{other} out of {below}", WRONG
    yield f"{above}/{below}", f"{below} out of {above}", WRONG
    yield f"{above}/{below}", f"{above} out of {below}0", WRONG
    yield f"{above}", f"{above} out of {below}", OPEN


@cases()
def ratio_prose(rng: random.Random) -> Iterator[Case]:
    first, second = rng.choice([(2, 3), (4, 1), (3, 5), (5, 2), (7, 4), (9, 8), (1, 6)])
    yield f"{first}:{second}", f"The ratio of cats to dogs is {first} to {second}.", RIGHT
    yield f"{first}:{second}", f"The ratio of cats to dogs is {second} to {first}.", WRONG
    yield f"{first}:{second}", f"The answer is {second}:{first}.", WRONG
    yield f"{first}:{second}", f"For every {first} cats there are {second} dogs.", RIGHT_OR_OPEN
    yield f"{first}:{second}", f"For every {first} cats there are {second + 2} dogs.", WRONG
    yield f"{first}:{second}", f"**Answer:** {NUMERALS[first]} to {NUMERALS[second]}", RIGHT_OR_OPEN


@cases((*LATEX, "The sides are in the ratio $@$."))
def ratio_scaled(rng: random.Random) -> Iterator[Case]:
    first, second, third = rng.choice([(3, 4, 5), (1, 2, 3), (5, 12, 13), (2, 3, 7), (1, 4, 9), (2, 5, 6)])
    factor = rng.randrange(2, 12)
    scaled = [factor * number for number in (first, second, third)]
    mark = rng.choice([":", " : "])
    yield f"{first}:{second}:{third}", mark.join(map(str, scaled)), RIGHT
    yield f"{first}:{second}:{third}", mark.join(map(str, [*scaled[:2], scaled[2] + 1])), WRONG
    yield f"{first}:{second}:{third}", mark.join(map(str, [scaled[0], scaled[2], scaled[1]])), WRONG
    yield f"{first}:{second}:{third}", mark.join(map(str, scaled[:2])), WRONG


@cases(WORDS)
def number_words(rng: random.Random) -> Iterator[Case]:
    number, other = two(rng, 2, 9)
    yield f"{20 + number}", f"twenty-{NUMERALS[number]}", RIGHT
    yield f"{20 + number}", f"twenty-{NUMERALS[other]}", WRONG
    yield f"{number}", NUMERALS[number], RIGHT
    yield f"{20 * number}", f"twenty-{NUMERALS[number]}", WRONG
    yield f"{number}00", f"{NUMERALS[number]} hundred", RIGHT
    yield f"{number}", f"{NUMERALS[number]} hundred", WRONG


@cases(LATEX)
def other_kinds_of_number(rng: random.Random) -> Iterator[Case]:
    first, second = two(rng, 2, 19)
    yield f"{first}+{second}i", f"{second}i + {first}", RIGHT
    yield f"{first}+{second}i", f"{first} - {second}i", WRONG
    yield f"{first}+{second}i", f"{second} + {first}i", WRONG
    yield f"{first}", f"{first}i", WRONG
    yield f"{first}", f"-{first}", WRONG
    yield rf"{first}\sqrt{{2}}", rf"\sqrt{{{2 * first * first}}}", RIGHT
    yield rf"\sqrt{{{first}}}", f"{first}", WRONG
