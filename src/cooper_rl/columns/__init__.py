"""What users' records and rows hold: the question, the reference answer with its aliases, and the worked solution.

Every source of records is read here: files, hub data sets, rows of verl and rows of a trainer.
"""

from cooper_rl.columns.question import question_of, question_text
from cooper_rl.columns.reference import GROUND_TRUTH, aliases_of, reference_of, worked_solution_of
from cooper_rl.columns.turns import assistant_text, user_text
from cooper_rl.columns.values import after_marker, decimal_of, without_annotations

__all__ = [
    "GROUND_TRUTH",
    "after_marker",
    "aliases_of",
    "assistant_text",
    "decimal_of",
    "question_of",
    "question_text",
    "reference_of",
    "user_text",
    "without_annotations",
    "worked_solution_of",
]
