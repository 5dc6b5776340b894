"""The people and places of passages, with the ways to name them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

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
