"""Classes of cases about units, money, factors in words, durations and times."""

from __future__ import annotations

import random
from collections.abc import Iterator

from verdict_cases import LATEX, NUMERALS, OPEN, PROSE, RIGHT, RIGHT_OR_OPEN, WORDS, WRONG, Case, cases, tidy, two

# larger unit, smaller unit, how many of the smaller one are the larger one
PREFIXES = (
    ("kPa", "Pa", 1000),
    ("km", "m", 1000),
    ("kg", "g", 1000),
    ("L", "mL", 1000),
    ("MHz", "Hz", 1_000_000),
    ("kJ", "J", 1000),
    ("A", "mA", 1000),
    ("m", "cm", 100),
    ("MW", "kW", 1000),
    ("GHz", "MHz", 1000),
)
SAME_KIND = (
    ("hours", "minutes", 60),
    ("minutes", "seconds", 60),
    ("days", "hours", 24),
    ("feet", "inches", 12),
    ("weeks", "days", 7),
)
# symbol, name, another unit for which it could be taken
LABELS = (
    ("km", "kilometers", "miles"),
    ("kg", "kilograms", "lb"),
    ("m", "meters", "feet"),
    ("cm", "centimeters", "inches"),
    ("h", "hours", "minutes"),
    ("L", "liters", "gallons"),
    ("J", "joules", "watts"),
    ("N", "newtons", "pascals"),
    ("V", "volts", "amperes"),
    ("g", "grams", "ounces"),
    ("min", "minutes", "seconds"),
)
TEXT_UNITS = (r"@\text{ #}", r"@\ \text{#}", r"@\,\mathrm{#}", r"@~\text{#}")


def with_unit(rng: random.Random, number: object, unit: str) -> str:
    """A number with a unit, in LaTeX."""
    return rng.choice(TEXT_UNITS).replace("@", str(number)).replace("#", unit)


@cases(PROSE)
def what_a_length_or_age_is_of(rng: random.Random) -> Iterator[Case]:
    number, (unit, name, other) = rng.randrange(3, 95), rng.choice(LABELS[:4])
    of = rng.choice(("long", "high", "tall", "wide", "deep", "thick", "away", "apart", "in length", "in all"))
    yield f"{number} {name}", f"It is {number} {unit} {of}.", RIGHT
    yield f"{number} {unit}", f"The answer is {number} {name} {of}.", RIGHT
    yield f"{number}", f"It is {number} {name} {of}.", RIGHT
    yield f"{number} {name}", f"It is {number} {other} {of}.", WRONG
    yield f"{number} {name}", f"It is {number + 1} {name} {of}.", WRONG
    yield f"{number} years", f"She is {number} years old.", RIGHT
    yield f"{number} years", f"She is {number} years older.", OPEN


@cases(LATEX)
def unit_prefixes(rng: random.Random) -> Iterator[Case]:
    large, small, factor = rng.choice(PREFIXES)
    number = rng.randrange(2, 95)
    yield f"{number} {large}", with_unit(rng, number * factor, small), RIGHT
    yield f"{number * factor} {small}", with_unit(rng, number, large), RIGHT
    yield f"{number} {large}", with_unit(rng, number, small), WRONG
    yield f"{number} {large}", with_unit(rng, number * factor * 10, small), WRONG
    yield f"{number * factor} {small}", with_unit(rng, number * factor, large), WRONG


@cases(LATEX)
def prefixes_with_powers_of_ten(rng: random.Random) -> Iterator[Case]:
    unit = rng.choice(["m", "s", "V", "A", "F"])
    prefix, power = rng.choice([("n", -9), ("m", -3), (r"\mu ", -6), ("k", 3), ("M", 6), ("p", -12)])
    number = rng.randrange(2, 9)
    reference = rf"{number} \times 10^{{{power}}} \text{{ {unit}}}"
    written = f"{number}\\ \\mathrm{{{prefix}{unit}}}"
    yield reference, written, RIGHT
    yield rf"{number} \times 10^{{{power + 1}}} \text{{ {unit}}}", written, WRONG
    yield rf"{number} \times 10^{{{-power}}} \text{{ {unit}}}", written, WRONG
    yield f"{number} {unit}", written, WRONG


@cases(WORDS)
def units_of_a_kind(rng: random.Random) -> Iterator[Case]:
    large, small, factor = rng.choice(SAME_KIND)
    number = rng.randrange(2, 40)
    yield f"{number} {large}", f"{number * factor} {small}", RIGHT
    yield f"{number * factor} {small}", f"{number} {large}", RIGHT
    yield f"{number} {large}", f"{number} {small}", WRONG
    yield f"{number} {large}", f"{number * factor + factor} {small}", WRONG


@cases(WORDS)
def unit_labels(rng: random.Random) -> Iterator[Case]:
    symbol, name, other = rng.choice(LABELS)
    number = rng.randrange(2, 95)
    yield f"{number} {symbol}", f"{number} {name}", RIGHT
    yield f"{number} {name}", f"{number} {symbol}", RIGHT
    yield f"{number} {symbol}", f"{number} {other}", WRONG
    yield f"{number} {other}", f"{number} {name}", WRONG
    yield f"{number} {symbol}", f"{number + 1} {name}", WRONG


@cases(WORDS)
def unknown_labels(rng: random.Random) -> Iterator[Case]:
    number, label = rng.randrange(2, 95), rng.choice(["florins", "apples", "widgets", "marbles", "tickets", "goblins"])
    yield f"{number}", f"{number} {label}", RIGHT
    yield f"{number} {label}", f"{number} {label}", RIGHT
    yield f"{number} {label}", f"{number}", RIGHT_OR_OPEN
    yield f"{number} {label}", f"{number + 1} {label}", WRONG
    yield f"{number}", f"{number * 10} {label}", WRONG


@cases(LATEX)
def angles(rng: random.Random) -> Iterator[Case]:
    degrees, below = rng.choice([(30, 6), (45, 4), (60, 3), (90, 2), (36, 5), (20, 9), (15, 12)])
    yield f"{degrees} degrees", rf"{degrees}^\circ", RIGHT
    yield f"{degrees} degrees", rf"{degrees} \text{{ radians}}", WRONG
    yield rf"{degrees}^\circ", rf"\frac{{\pi}}{{{below}}} \text{{ radians}}", RIGHT
    yield rf"{degrees}^\circ", rf"\frac{{\pi}}{{{below + 1}}} \text{{ radians}}", WRONG
    yield rf"\frac{{\pi}}{{{below}}}", rf"{degrees}^\circ", RIGHT_OR_OPEN
    yield rf"\frac{{\pi}}{{{below}}}", rf"{degrees * 2}^\circ", WRONG
    yield rf"{degrees}^\circ", f"{degrees}'", WRONG


@cases(WORDS)
def temperatures(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(5, 60)
    yield f"{number} °C", f"{number}°C", RIGHT
    yield f"{number} °C", f"{number} degrees Celsius", RIGHT
    yield f"{number} °C", f"{number} K", WRONG
    yield f"{number} °C", f"{number} °F", WRONG
    yield f"{number} °C", f"{number + 273.15:.2f} K", RIGHT_OR_OPEN
    yield f"{number} °C", f"{number + 27.31:.2f} K", WRONG
    yield f"{number} °C", f"-{number} °C", WRONG


@cases(WORDS)
def speed_units(rng: random.Random) -> Iterator[Case]:
    seconds = 5 * rng.randrange(1, 12)
    hours, slow = seconds * 18 // 5, rng.choice(["m/s", "meters per second", "m s^-1"])
    fast = rng.choice(["km/h", "kilometers per hour", "km per hour"])
    yield f"{hours} km/h", f"{seconds} {slow}", RIGHT
    yield f"{seconds} m/s", f"{hours} {fast}", RIGHT
    yield f"{hours} {fast}", f"{hours} {slow}", WRONG
    yield f"{hours} km/h", f"{hours} mph", WRONG
    yield f"{hours} km/h", f"{seconds + 1} {slow}", WRONG
    yield f"{hours} km/h", f"{hours} km", WRONG


@cases(LATEX)
def unit_powers(rng: random.Random) -> Iterator[Case]:
    number = rng.choice([rng.randrange(2, 90), rng.randrange(11, 99) / 10])
    yield f"{number} m/s^2", rf"{number}\ \text{{m s}}^{{-2}}", RIGHT
    yield f"{number} m/s^2", rf"{number}\ \text{{m s}}^{{-1}}", WRONG
    yield f"{number} m/s", rf"{number}\,\mathrm{{m\,s^{{-1}}}}", RIGHT
    yield f"{number} m/s", rf"{number}\ \text{{m s}}", WRONG
    yield f"{number} cm^2", rf"{number}\text{{ cm}}^2", RIGHT
    yield f"{number} cm^2", rf"{number}\text{{ cm}}^3", WRONG
    yield f"{number} cm^2", rf"{number}\text{{ m}}^2", WRONG
    yield f"{number} m^2", rf"{tidy(number * 10000)}\text{{ cm}}^2", RIGHT
    yield f"{number} m^3", rf"{tidy(number * 10000)}\text{{ cm}}^3", WRONG


@cases(LATEX)
def compound_units(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(2, 90)
    yield f"{number} N", rf"{number}\ \text{{kg m s}}^{{-2}}", RIGHT
    yield f"{number} J", rf"{number}\ \text{{N m}}", RIGHT_OR_OPEN
    yield f"{number} N", rf"{number}\ \text{{kg m s}}^{{-1}}", WRONG
    heat = rf"{number}\ \text{{J kg}}^{{-1}}\text{{ K}}^{{-1}}"
    yield heat, rf"{number}\ \mathrm{{J/(kg\cdot K)}}", RIGHT
    yield heat, rf"{number}\ \mathrm{{kJ/(kg\cdot K)}}", WRONG
    yield heat, rf"{number}\ \mathrm{{J/kg}}", WRONG
    yield f"{number} g/cm^3", rf"{number * 1000}\ \mathrm{{kg/m^3}}", RIGHT
    yield f"{number} g/cm^3", rf"{number}\ \mathrm{{kg/m^3}}", WRONG
    yield f"{number} W", rf"{number}\ \mathrm{{J/s}}", RIGHT


@cases(PROSE)
def cents(rng: random.Random) -> Iterator[Case]:
    number = rng.choice([number for number in range(11, 99) if number % 10])
    whole = rng.randrange(2, 9)
    yield f"$0.{number}", f"{number} cents", RIGHT
    yield f"$0.{number}", f"0.{number} cents", WRONG
    yield f"{number} cents", f"${number}", WRONG
    yield f"{number} cents", f"$0.{number}", RIGHT
    yield f"${whole}.{number}", f"{whole}{number} cents", RIGHT
    yield f"${whole}.{number}", f"{number}{whole} cents", WRONG if number != 11 * whole else RIGHT
    yield f"$0.{number}", f"{number}¢", RIGHT_OR_OPEN


@cases(PROSE)
def currencies(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(2, 400)
    yield f"${number}", f"{number} dollars", RIGHT
    yield f"${number}", f"${number}.00", RIGHT
    yield f"${number}", f"{number} euros", WRONG
    yield f"€{number}", f"{number} €", RIGHT_OR_OPEN
    yield f"€{number}", f"£{number}", WRONG
    yield f"${number}", f"${number}0", WRONG


@cases(WORDS)
def magnitude_words(rng: random.Random) -> Iterator[Case]:
    number, half = rng.randrange(2, 90), rng.randrange(2, 9)
    name, factor = rng.choice([("thousand", 10**3), ("million", 10**6), ("billion", 10**9), ("trillion", 10**12)])
    yield f"{number * factor}", f"{number} {name}", RIGHT
    yield f"{number * factor:,}", f"{number} {name}", RIGHT
    yield f"{number * factor * 1000}", f"{number} {name}", WRONG
    yield f"{number}", f"{number} {name}", WRONG
    yield f"{half}.5 {name}", f"{half * factor + factor // 2:,}", RIGHT
    yield f"{half}.5 {name}", f"{half * factor + factor // 20:,}", WRONG


@cases()
def magnitude_letters(rng: random.Random) -> Iterator[Case]:
    number, letter = rng.randrange(2, 90), rng.choice("kK")
    yield f"{number}000", f"They sold {number}{letter} tickets.", RIGHT
    yield f"{number}000", f"They sold {number}0{letter} tickets.", WRONG
    yield f"{number}", f"They sold {number}{letter} tickets.", WRONG
    yield f"${number}000", f"The answer is ${number}{letter}.", RIGHT
    yield f"{number}000000", f"The answer is ${number}M.", RIGHT_OR_OPEN
    yield f"{number}000", f"The answer is ${number}M.", WRONG


@cases((*WORDS, "They need @.", "She counted @ of them."))
def dozen_lakh(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(2, 12)
    yield f"{12 * number}", f"{number} dozen", RIGHT
    yield f"{12 * number}", f"{NUMERALS[number]} dozen", RIGHT
    yield f"{number}", f"{number} dozen", WRONG
    yield f"{12 * number + 12}", f"{NUMERALS[number]} dozen", WRONG
    yield "6", "half a dozen", RIGHT
    yield "12", "half a dozen", WRONG
    yield f"{number}00000", f"{number} lakh", RIGHT
    yield f"{number}000000", f"{number} lakh", WRONG
    yield f"{number}0000000", f"{number} crore", RIGHT_OR_OPEN


@cases((*WORDS, "It takes them @."))
def compound_duration(rng: random.Random) -> Iterator[Case]:
    hours, (minutes, other) = rng.randrange(2, 6), two(rng, 11, 49)
    total = 60 * hours + minutes
    yield f"{total} minutes", f"{hours} hours and {minutes} minutes", RIGHT
    yield f"{total} minutes", f"{hours} hours and {other} minutes", WRONG
    yield f"{hours} hours {minutes} minutes", f"{total} minutes", RIGHT
    yield f"{hours} hours {minutes} minutes", f"{hours}{minutes} minutes", WRONG
    yield f"{hours}.5 hours", f"{hours} h 30 min", RIGHT
    yield f"{hours}.5 hours", f"{hours} hours and 50 minutes", WRONG
    yield f"{total} seconds", f"{hours} minutes {minutes} seconds", RIGHT
    yield f"{hours} hours", f"{hours} hours and {minutes} minutes", WRONG


@cases((*WORDS, "The train arrives at @."))
def clock_times(rng: random.Random) -> Iterator[Case]:
    hour, minute, past = rng.randrange(1, 12), rng.randrange(10, 59), rng.randrange(3, 39)
    yield f"{hour}:{minute} PM", f"{hour + 12}:{minute}", RIGHT
    yield f"{hour}:{minute} PM", f"{hour}:{minute} p.m.", RIGHT
    yield f"{hour}:{minute} PM", f"{hour}:{minute} AM", WRONG
    yield f"{hour}:{minute} PM", f"{hour + 10}:{minute}", WRONG
    yield f"{hour + 1}:{past:02d}", f"{hour}:{past + 60}", WRONG
    yield f"{hour}:{minute} AM", f"{hour:02d}:{minute}", RIGHT_OR_OPEN
    yield f"{hour}:{minute}", f"{hour}:{minute + 1}", WRONG


@cases(LATEX)
def units_on_one_side(rng: random.Random) -> Iterator[Case]:
    number = rng.randrange(2, 95)
    unit = rng.choice(["cm", "kg", "km/h", "hours", "m^2"])
    yield f"{number}", with_unit(rng, number, unit), RIGHT
    yield f"{number} {unit}", f"{number}", RIGHT
    yield f"{number}", with_unit(rng, number + 1, unit), WRONG
    yield f"{number * 60}", with_unit(rng, number, "hours"), OPEN
