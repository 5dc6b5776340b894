"""People, places, dates, times of day and amounts of passages, each with its writings.

A date is `3 March`, `March 3rd` or `the third of March`. A value is kept in one writing of its own: `03-21`, `09:15`
(24 hours), `20 euro`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from cooper_rl.verifiers.math.numerals import ONES, TENS
from cooper_rl.verifiers.math.words import MONTHS

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"),
    *("twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth"),
    *("twentieth", *(f"twenty-{nth}" for nth in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh"))),
    *("twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first"),
)
ORDINALS = {name: day for day, name in enumerate(_ORDINALS, 1)}
NAMES_OF_NUMBERS = {value: name for name, value in (ONES | TENS).items()}
NOON, EVENING = 12, 18  # hours
FEMALE, MALE = "f", "m"
_WOMEN = (
    "Ana Bela Clara Dora Elena Farah Greta Hanna Ines Julia Kira Lena Maria Nadia Olga Petra Sara Tina Vera Wanda "
    "Yara Zora Amina Carla Edith Fiona Helga Irene Judith Laura"
)
_MEN = (
    "Ben Carl David Emil Felix Georg Hugo Ivan Jonas Kofi Leo Martin Nico Oscar Paul Rafael Simon Tom Victor "
    "Walter Adam Bruno Daniel Erik Frank Henry Igor Jakob Lukas Peter"
)
_SURNAMES = (
    "Lopez Ortiz Meyer Novak Silva Costa Jansen Keller Rossi Moreau Dubois Fischer Hansen Olsen Kowalski Murphy "
    "Walsh Reyes Santos Tanaka Okafor Mensah Haddad Nasser Petrov Weber Schmidt Romero Vargas Lindgren Bakker "
    "Conti Farkas Horvat Dunn Hayes Nolan Sato"
)
_TOWNS = (
    "Porto Leeds Lyon Turin Bergen Krakow Seville Ghent Graz Basel Tampere Aarhus Zagreb Cork Malaga Utrecht Bonn "
    "Riga Vilnius Nantes"
)
FIRST_NAMES = {FEMALE: tuple(_WOMEN.split()), MALE: tuple(_MEN.split())}
SURNAMES = tuple(_SURNAMES.split())
TOWNS = tuple(_TOWNS.split())
TITLES = {FEMALE: ("Ms", "Mrs", "Miss"), MALE: ("Mr",)}
ONE_SURNAME = 0.2  # share of passages in which two persons have the same surname
SITES = {
    "library": ("the library", "the town library", "the public library"),
    "station": ("the station", "the train station", "the railway station"),
    "bakery": ("the bakery", "the baker's shop", "the baker's"),
    "harbour": ("the harbour", "the harbor", "the port"),
    "school": ("the school", "the school building"),
    "museum": ("the museum", "the town museum"),
    "park": ("the park", "the town park", "the public park"),
    "market": ("the market", "the marketplace", "the market square"),
    "cafe": ("the cafe", "the coffee shop", "the coffee house"),
    "cinema": ("the cinema", "the movie theatre", "the movie theater"),
    "pharmacy": ("the pharmacy", "the chemist's", "the drugstore"),
    "pool": ("the swimming pool", "the pool", "the town pool"),
    "town hall": ("the town hall", "the city hall"),
    "butcher": ("the butcher's shop", "the butcher's", "the butcher shop"),
    "hospital": ("the hospital", "the town hospital"),
}


class Unit(NamedTuple):
    """The names of a unit; a symbol and a code stand before the number."""

    names: tuple[str, ...]
    symbol: str = ""
    code: str = ""


UNITS = {
    "euro": Unit(("euros", "euro"), "€", "EUR"),
    "dollar": Unit(("dollars", "dollar"), "$", "USD"),
    "pound": Unit(("pounds", "pound"), "£", "GBP"),
    "kilometre": Unit(("kilometres", "kilometers", "km", "kilometre", "kilometer")),
    "metre": Unit(("metres", "meters", "m", "metre", "meter")),
    "kilogram": Unit(("kilograms", "kilos", "kg", "kilogram", "kilo")),
    "litre": Unit(("litres", "liters", "l", "litre", "liter")),
}


def number_words(number: int) -> str:
    """A number below 100 in words."""
    if number in NAMES_OF_NUMBERS:
        return NAMES_OF_NUMBERS[number]
    return f"{NAMES_OF_NUMBERS[number // 10 * 10]}-{NAMES_OF_NUMBERS[number % 10]}"


def date_value(month: int, day: int) -> str:
    """A date in the writing in which it is kept."""
    return f"{month:02}-{day:02}"


def of_date(value: str) -> tuple[str, ...]:
    """The writings of a date."""
    number, day = map(int, value.split("-"))
    month = MONTHS[number - 1].capitalize()
    nth, ordinal = f"{day}{suffix(day)}", _ORDINALS[day - 1]
    return (
        f"{day} {month}",
        f"{month} {day}",
        f"{month} {nth}",
        f"{nth} {month}",
        f"the {nth} of {month}",
        f"the {ordinal} of {month}",
        f"{month} the {ordinal}",
        *((f"{day} {month[:3]}", f"{month[:3]} {day}") if len(month) > 4 else ()),
    )


def suffix(day: int) -> str:
    """What makes an ordinal of a day in digits: `st`, `nd`, `rd` or `th`."""
    return "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def time_value(minutes: int) -> str:
    """A time of day, in minutes from midnight, in the writing in which it is kept."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def of_time(value: str) -> tuple[str, ...]:
    """The writings of a time of day, whose minutes are a multiple of five. Some leave the half of the day open."""
    hour, minute = map(int, value.split(":"))
    half, part = half_of(value)
    clock, said = f"{hour % 12 or 12}:{minute:02}", _spoken(hour, minute)
    short = (f"{hour % 12 or 12} {half}",) if minute == 0 else ()
    return tuple(dict.fromkeys((clock, f"{clock} {half}", value, *short, *said, f"{said[0]} {part}")))


def _spoken(hour: int, minute: int) -> tuple[str, ...]:
    name, following = number_words(hour % 12 or 12), number_words(hour % 12 + 1)
    if minute == 0:
        return (f"{name} o'clock",)
    if minute == 30:
        return f"half past {name}", f"{name} thirty"
    near = "quarter" if minute in (15, 45) else number_words(min(minute, 60 - minute))
    said = f"{near} past {name}" if minute < 30 else f"{near} to {following}"
    more = (f"a {said}",) if near == "quarter" else ()
    return (said, *more, f"{name} {number_words(minute)}") if minute > 5 else (said,)


def half_of(value: str) -> tuple[str, str]:
    """The half of the day of a time, as `am` or `pm`, and in words."""
    hour = int(value[:2])
    return ("am", "in the morning") if hour < NOON else ("pm", f"in the {'afternoon' if hour < EVENING else 'evening'}")


def in_passage(value: str, style: int) -> str:
    """A time of day as a passage has it: so that morning and afternoon are told apart. There are three styles."""
    hour, minute = map(int, value.split(":"))
    half, part = half_of(value)
    return (f"{hour % 12 or 12}:{minute:02} {half}", value, f"{_spoken(hour, minute)[0]} {part}")[style]


def amount_value(number: int, unit: str) -> str:
    """An amount in the writing in which it is kept."""
    return f"{number} {unit}"


def of_amount(value: str) -> tuple[str, ...]:
    """The writings of an amount of at least two."""
    number, name = value.split(" ")
    unit = UNITS[name]
    words = number_words(int(number))
    texts = [f"{number} {unit.names[0]}", f"{words} {unit.names[0]}"]
    if unit.symbol:
        return (*texts, f"{unit.symbol}{number}", f"{unit.code} {number}", f"{number} {unit.code}")
    short = unit.names[-3]
    return (*texts, f"{number} {short}", f"{number} {unit.names[1]}", f"{words} {unit.names[1]}")


class Person(NamedTuple):
    """A person of a passage."""

    first: str
    last: str
    gender: str

    @property
    def full(self) -> str:
        """First name and surname."""
        return f"{self.first} {self.last}"

    @property
    def his(self) -> str:
        """The pronoun of what is the person's."""
        return "her" if self.gender == FEMALE else "his"


def persons(rng: random.Random, count: int, genders: Sequence[str] = ()) -> list[Person]:
    """So many persons with different first names; sometimes two have the same surname."""
    found: list[Person] = []
    surnames = rng.sample(SURNAMES, count)
    if rng.random() < ONE_SURNAME:
        surnames[1] = surnames[0]
    for place in range(count):
        gender = genders[place] if genders else rng.choice((FEMALE, MALE))
        taken = {person.first for person in found}
        found.append(
            Person(rng.choice([name for name in FIRST_NAMES[gender] if name not in taken]), surnames[place], gender)
        )
    return found


def of_person(person: Person, all_of_them: Sequence[Person]) -> tuple[str, ...]:
    """The writings of a person that fit no other one of the passage, and a sentence."""
    others = [other for other in all_of_them if other != person]
    titled = [f"{title} {person.last}" for title in TITLES[person.gender]]
    same = [other for other in others if other.last == person.last]
    texts = [person.full, person.first]
    if not any(other.gender == person.gender for other in same):
        texts += titled[:1]
    return tuple(texts if same else [*texts, person.last])


def of_place(value: str) -> tuple[str, ...]:
    """The writings of a place; the first is that of the passages."""
    return SITES.get(value) or (value, f"the town of {value}", f"the city of {value}")


def at(value: str) -> str:
    """A place with its preposition."""
    return f"at {of_place(value)[0]}" if value in SITES else f"in {value}"
