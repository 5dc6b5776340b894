"""No wrong answer is CORRECT and no right one INCORRECT, class by class: value x writing x mirror.

`python tests/unit/verdict_classes.py` shows the faults of all classes at once.
"""

from collections import Counter

import pytest
from verdict_classes import CLASSES, cases_of, faults_of, shown

LEAST, SHOWN = 2000, 5


@pytest.mark.parametrize("name", CLASSES)
def test_verdicts_of_a_class(name):
    faults = faults_of(name)
    lines = [shown(fault, case) for fault, case in faults[:SHOWN]]
    assert not faults, "\n".join([f"{name}: {dict(Counter(fault for fault, _ in faults))}", *lines])


def test_each_class_has_a_mirror_and_there_are_enough_cases():
    found = {name: cases_of(name) for name in CLASSES}
    one_sided = [name for name, cases in found.items() if len({allowed for _, _, allowed in cases}) < 2]
    assert not one_sided
    assert sum(map(len, found.values())) >= LEAST
