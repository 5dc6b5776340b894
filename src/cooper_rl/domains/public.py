"""The public data sets by name. They are read from COOPER_DATA_DIR, or from the Hugging Face hub if not there."""

from __future__ import annotations

import logging
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from cooper_rl.columns import after_marker, decimal_of, user_text, without_annotations
from cooper_rl.domains.own_data import Table, TableSet, local_copy
from cooper_rl.errors import BadInputError
from cooper_rl.records import Problem
from cooper_rl.tables import from_hub

logger = logging.getLogger(__name__)
_LAYOUT = re.compile(r"(\s|\\\\|\\noindent|\\end\{problem\})+$")  # what MathOdyssey's LaTeX source has after a text

_FRAME = re.compile(  # around each question of DAPO-Math-17k
    r"Solve the following math problem step by step\..*?answer to the problem\.\s+(?P<question>.*?)"
    r"\s+Remember to put your answer on its own line after \"Answer:\"\.",
    re.DOTALL,
)


class HubPlace(NamedTuple):
    """The place of a split on the hub."""

    id: str
    configuration: str | None
    split: str


class Fields(NamedTuple):
    """The parts of a problem in a published record."""

    question: str
    answer: str | None
    worked_solution: str = ""


class PublicSet(TableSet):
    """A published data set.

    Attributes:
        local: the file of each split in COOPER_DATA_DIR.
        hub: the place of each split on the hub.
        repeated: whether a question is published many times; the first is taken.
    """

    repeated: ClassVar[bool] = False

    local: ClassVar[Mapping[str, str]]
    hub: ClassVar[Mapping[str, HubPlace]]

    def __init__(self) -> None:
        self.splits = tuple(self.local)

    @staticmethod
    @abstractmethod
    def fields(record: Mapping[str, Any]) -> Fields:
        """Question, answer and worked solution of a published record. A record without an answer is left out."""

    def table(self, split: str) -> Table:
        """The copy in COOPER_DATA_DIR, else the split on the hub.

        Raises:
            BackendError: neither a local copy nor the hub could be read.
        """
        path = local_copy(self.local[split])
        return Table.of_file(path) if path else Table.of_hub(self.name, from_hub(*self.hub[split]))

    def problems_of(self, records: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Problem]:
        """The records that have an answer, as problems.

        Raises:
            BadInputError: a record is not of this data set.
        """
        unanswered, seen = 0, set[str]()
        for index, (place, record) in enumerate(records):
            try:
                question, answer, solution = self.fields(record)
            except (KeyError, ValueError, AttributeError, TypeError) as error:
                told = f"{type(error).__name__}: {error}"
                raise BadInputError(f"{place}: not of {self.name} ({told})") from error
            if not answer or not question:
                unanswered += 1
                continue
            if self.repeated:
                if question in seen:
                    continue
                seen.add(question)
            metadata = {"worked_solution": solution} if solution else {}
            yield Problem(question, str(answer), self.name, f"{self.name}-{index}", metadata)
        if unanswered:
            logger.warning("%s: %d records without an answer left out", self.name, unanswered)

    def check(self, split: str) -> None:
        """Checks the name of the split and, if there is a local copy, its records. The hub is not asked."""
        self.check_split(split)
        if local_copy(self.local[split]):
            self.open_split(split)


class Gsm8k(PublicSet):
    """Grade-school word problems. The calculator annotations are removed from the worked solutions."""

    name = "gsm8k"
    local: ClassVar = {"train": "gsm8k_train.jsonl", "test": "gsm8k_test.jsonl"}
    hub: ClassVar = {split: HubPlace("openai/gsm8k", "main", split) for split in ("train", "test")}

    @staticmethod
    def fields(record: Mapping[str, Any]) -> Fields:
        return Fields(record["question"], after_marker(record["answer"]), without_annotations(record["answer"]))


class Math(PublicSet):
    """The 12,000 problems of MATH that are not in MATH-500."""

    name = "math"
    local: ClassVar = {"train": "math_train12000.jsonl"}
    hub: ClassVar = {"train": HubPlace("nlile/hendrycks-MATH-benchmark", None, "train")}

    @staticmethod
    def fields(record: Mapping[str, Any]) -> Fields:
        return Fields(record["problem"], record.get("answer"), record.get("solution", ""))


class Math500(Math):
    """MATH-500."""

    name = "math500"
    local: ClassVar = {"test": "math500.jsonl"}
    hub: ClassVar = {"test": HubPlace("HuggingFaceH4/MATH-500", None, "test")}


class DapoMath(PublicSet):
    """DAPO-Math-17k: 17,000 problems with whole numbers as answers, each published 100 times.

    The published prompt asks for a last line `Answer: ...`. That frame is taken off, since the form of an answer is for
    the recipe's system prompt to say.
    """

    name = "dapo-math-17k"
    repeated = True
    local: ClassVar = {"train": "dapo-math-17k.parquet"}
    hub: ClassVar = {"train": HubPlace("BytedTsinghua-SIA/DAPO-Math-17k", None, "train")}

    @staticmethod
    def fields(record: Mapping[str, Any]) -> Fields:
        question = user_text(record["prompt"]).strip()
        framed = _FRAME.fullmatch(question)
        return Fields(framed["question"] if framed else question, record["reward_model"]["ground_truth"])


class Svamp(PublicSet):
    """Short word problems with numbers as answers."""

    name = "svamp"
    local: ClassVar = {"test": "SVAMP.json"}
    hub: ClassVar = {"test": HubPlace("ChilleD/SVAMP", None, "test")}

    @staticmethod
    def fields(record: Mapping[str, Any]) -> Fields:
        return Fields(f"{record['Body'].strip()} {record['Question'].strip()}", decimal_of(float(record["Answer"])))


class OlympiadBench(PublicSet):
    """The open-ended problems of OlympiadBench that are in English and mathematics."""

    name = "olympiadbench"
    local: ClassVar = {"test": "olympiadbench_oe_maths_en.jsonl"}
    hub: ClassVar = {"test": HubPlace("Hothan/OlympiadBench", "OE_TO_maths_en_COMP", "train")}

    @staticmethod
    def fields(record: Mapping[str, Any]) -> Fields:
        answer = record["final_answer"]
        return Fields(record["question"], answer[0] if isinstance(answer, list) else answer)


class Odyssey(PublicSet):
    """MathOdyssey. The published file nests each problem under its number; the hub's records are flat.

    Most texts end in layout commands of the LaTeX source, which are removed.
    """

    name = "odyssey"
    local: ClassVar = {"test": "odyssey_math.jsonl"}
    hub: ClassVar = {"test": HubPlace("MathOdyssey/MathOdyssey", None, "test")}

    @staticmethod
    def fields(record: Mapping[str, Any]) -> Fields:
        if "answer" not in record:
            (record,) = record.values()
        names = ("problem_statement", "problem", "question")
        question = next(str(record[name]) for name in names if name in record)
        return Fields(_LAYOUT.sub("", question), _LAYOUT.sub("", str(record["answer"])))


class Aqua(PublicSet):
    """Multiple-choice questions. The answer is a letter, so the verifier is `choice`."""

    name = "aqua"
    verifier = "choice"
    local: ClassVar = {"test": "aqua_test.json"}
    hub: ClassVar = {"test": HubPlace("deepmind/aqua_rat", "raw", "test")}

    @staticmethod
    def fields(record: Mapping[str, Any]) -> Fields:
        question = f"{record['question']} Answer choices: {' '.join(record['options'])}"
        return Fields(question, record["correct"], record.get("rationale", ""))
