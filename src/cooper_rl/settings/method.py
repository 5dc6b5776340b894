"""The settings of the method: the verifier, the reward and the arms, the credit of steps, wrong references.

`reward_model.py` has those of the reward model's training, its guard and the alarm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, cast

from cooper_rl.errors import BadInputError, suggest
from cooper_rl.settings.reward_model import (
    GuardSettings,
    MeasuringSettings,
    PairSettings,
    UpdateSettings,
    check_negative_sources,
)
from cooper_rl.settings.schema import check_fields, setting

Arm = Literal["rule", "static", "cooper", "hybrid", "hybrid+cotrain", "rule+cotrain"]
ARMS: dict[str, tuple[str, bool]] = {  # what an arm's name stands for: (reward, cotrain)
    "rule": ("rule", False),
    "static": ("score", False),
    "cooper": ("score", True),
    "hybrid": ("hybrid", False),
    "hybrid+cotrain": ("hybrid", True),
    "rule+cotrain": ("rule", True),
}
DEFAULT_ARM = "cooper"
GIVEN_BY_ANOTHER: Any = None  # stands in for arm, reward or cotrain until `resolve_arm` has filled in all three
Credit = Literal["outcome", "first_error", "centred", "difference", "shared_prefix", "reference_gain", "random"]
VALUED_BY_MODEL = ("first_error", "centred", "difference", "random")  # kinds of credit with the reward model's values
USES = ("reward", "negatives", "monitor")  # of counterfactual references


@dataclass(kw_only=True)
class VerifierSettings:
    """The rule that judges completions, and its worker processes."""

    HEADING: ClassVar[str] = "Verifier"

    verifier: str = "math"
    """Rule that judges completions: math, text, auto, math_verify, exact, choice, gsm8k_strict, gsm8k_flexible,
    reasoning_gym:TASK or module:function."""
    verifier_workers: int = setting(2, least=1)
    """Number of worker processes of the verifier."""


@dataclass
class RewardSettings(VerifierSettings):
    """Stage 1: what a completion is rewarded for."""

    HEADING: ClassVar[str] = "Reward (stage 1)"

    arm: Arm | None = GIVEN_BY_ANOTHER
    """Name that sets reward and cotrain together: rule (rule, false), static (score, false), cooper (score, true),
    hybrid (hybrid, false), hybrid+cotrain (hybrid, true) or rule+cotrain (rule, true). Without it, reward and cotrain
    decide; if none of the three is given, it is cooper."""
    reward: str = GIVEN_BY_ANOTHER
    """Reward of a completion: rule, score, hybrid or your own class as module:Class. rule is 1 if the verifier says
    CORRECT, else 0. score is the reward model's score. hybrid is 1 if CORRECT, else the score. Without it, arm
    decides."""
    cotrain: bool = GIVEN_BY_ANOTHER
    """Train the reward model along with the policy (stage 2). Without it, arm decides."""
    reward_threshold: float | None = setting(None, least=0, most=1)
    """Reward a score above this number with 1 and any other with 0; null makes the score itself the reward."""
    verifier_deadline_seconds: float = setting(5.0, least=0.001)
    """Give up on judging a completion after this many seconds, with the verdict TIMEOUT."""
    verifier_batch_seconds: float = setting(300.0, least=0.001)
    """Give up on judging a batch of completions after this many seconds: those not judged by then get the verdict
    TIMEOUT. Keep it below ddp_timeout, after which waiting ranks end a run."""


@dataclass
class CreditSettings:
    """Process-level credit: the advantages of single steps."""

    HEADING: ClassVar[str] = "Credit of steps"

    credit: Credit = "outcome"
    """Rule for the advantage of each step of a completion; outcome gives each the advantage of the whole.
    docs/algorithm.md has the equations."""
    credit_weight: float = setting(0.5, least=0)
    """Weight of a step's own part of the advantage, which is added in centred, difference, reference_gain and
    random."""
    credit_steps: Literal["line", "sentence"] = "sentence"
    """What counts as a step of a completion, for credit and for prefix_weight."""


@dataclass
class CounterfactualSettings:
    """What accepted completions are asked under wrong references for."""

    HEADING: ClassVar[str] = "Counterfactual references"

    counterfactual_references: int | None = setting(None, least=0)
    """Ask each accepted completion under N wrong references, the answers of other questions; 0 asks none, null 1."""
    counterfactual_uses: list[str] | None = None
    """Uses of wrong references. reward does not pay what is accepted under a wrong reference too; nor, without a
    reward_threshold, a score up to 0.5. negatives teaches the reward model that it is wrong there. monitor raises an
    alarm when it becomes more frequent. null takes all three, and monitor alone where the reward model is frozen and
    counterfactual_references is null."""
    counterfactual_form: Literal["refused", "margin", "best_fit"] = "refused"
    """When to pay a completion. refused: it is refused under each wrong reference. margin: its score is higher by
    counterfactual_margin under its own. best_fit: its own scores highest, also against its group's wrong answers."""
    counterfactual_margin: float = setting(0.25, least=0, most=1)
    """With counterfactual_form margin: the score under the right reference must be higher by more than this."""
    counterfactual_near: bool = False
    """Take near wrong references where the rule proves one wrong: the right answer with one part of another, such as
    12 March for 12 February. They test parts of an answer too; a frozen reward model may refuse more right ones."""
    counterfactual_per_step: int = setting(24, least=0)
    """Also train the reward model, at each update, on N accepted completions under wrong references, half of them those
    that score highest there."""
    counterfactual_answers: str = ""
    """Text file with wrong references, one answer a line, to draw from in addition to the run's own answers."""


@dataclass
class CooperSettings(
    RewardSettings,
    CreditSettings,
    PairSettings,
    UpdateSettings,
    CounterfactualSettings,
    GuardSettings,
    MeasuringSettings,
):
    """The settings that Cooper adds to GRPO. None of them is the trainer's.

    The constructor sets `arm`, `reward` and `cotrain` so that they agree.

    Raises:
        BadInputError: a value of the wrong type or out of its range, or an arm that contradicts the reward.
    """

    def __post_init__(self) -> None:
        self.resolve()

    @classmethod
    def from_keywords(cls, settings: CooperSettings | None = None, **chosen: Any) -> CooperSettings:
        """Settings by keyword, on top of `settings` where these are given, which may be those of a whole run.

        Raises:
            BadInputError: there is no setting of this name; the message suggests the nearest.
        """
        names = [item.name for item in fields(CooperSettings)]
        for name in chosen:
            if name not in names:
                raise BadInputError(f"no setting {name!r}{suggest(name, names)}")
        own = {name: getattr(settings, name) for name in names} if settings is not None else {}
        return CooperSettings(**overlay(own, chosen))

    def resolve(self) -> None:
        """Fills in arm, reward and cotrain, and checks every field of the method."""
        arm, self.reward, self.cotrain = resolve_arm(self.arm, self.reward, self.cotrain)
        self.arm = cast(Arm | None, arm)
        check_fields(self, CooperSettings)
        check_negative_sources(self.negative_sources)
        for use in self.counterfactual_uses or ():
            if use not in USES:
                raise BadInputError(f"counterfactual_uses: {use!r} is not one of {', '.join(USES)}")
        if self.reward_model_sharded and (self.prefix_weight or self.credit in VALUED_BY_MODEL):
            raise BadInputError("reward_model_sharded: a sharded reward model cannot value steps; set it to false")
        if self.reward_model_sharded and self.reward_model_offload:
            raise BadInputError(
                "reward_model_offload: a sharded reward model's state stays in its place; set it to false"
            )

    @property
    def needs_reward_model(self) -> bool:
        """Whether the run needs a reward model: for the reward, the steps' credit, or because it is co-trained."""
        return self.reward != "rule" or self.cotrain or self.credit in VALUED_BY_MODEL

    @property
    def asked_for(self) -> tuple[str, ...]:
        """What wrong references are used for; nothing where there is no reward model, or none are asked."""
        if self.counterfactual_references == 0 or not self.needs_reward_model:
            return ()
        if self.counterfactual_uses is not None:
            return tuple(self.counterfactual_uses)
        return USES if self.cotrain or self.counterfactual_references else ("monitor",)

    @property
    def asks_assistant(self) -> bool:
        """Whether stage 2 takes wrong rewrites from a language model."""
        return self.cotrain and self.negative_sources.get("assistant", 0) > 0

    @property
    def reads_doubt(self) -> bool:
        """Whether anything reads what is probably right after all: mining, replay, or a source of the user's own."""
        sources = {*(name for name, weight in self.negative_sources.items() if weight > 0), self.negative_fallback}
        reads = self.replay_per_step > 0 or not sources <= {"none", "assistant", "perturb", "shuffle"}
        return self.cotrain and self.mined_max_right < 1 and reads


@dataclass
class RunSettings:
    """The settings that the trainer and the method both read."""

    HEADING: ClassVar[str] = "Policy and trainer"

    output_dir: str = ""
    """Folder of the run, for metrics, rollouts, pairs and checkpoints."""
    seed: int = setting(42, least=0, most=2**32 - 1)
    """Seed for sampling, pairs and the order of problems."""
    num_generations: int = setting(16, least=2)
    """Number of completions per prompt, the group in which advantages are computed; the generation batch must be a
    multiple of it."""


@dataclass
class MethodSettings(RunSettings, CooperSettings):
    """The method's settings in a run: they come with what the run tells it, its folder, seed and size of a group."""

    def resolve(self) -> None:
        """As that of `CooperSettings`."""
        super().resolve()
        check_fields(self, RunSettings)


def resolve_arm(
    arm: str | None, reward: str | None, cotrain: bool | None, source: str = ""
) -> tuple[str | None, str, bool]:
    """(arm, reward, cotrain) from those that are given. If none is given, the arm is `cooper`.

    The arm is None where no arm is a name for the pair, as with a reward of the user's own.

    Args:
        source: the file or command line that gives them; error messages begin with it.

    Raises:
        BadInputError: the arm is unknown, or contradicts the reward or cotrain given with it.
    """
    where = f"{source}: " if source else ""
    if arm is not None and arm not in ARMS:
        raise BadInputError(f"{where}arm: {arm!r} is not one of {', '.join(ARMS)}")
    of_arm, trained = ARMS[arm or DEFAULT_ARM]
    if arm is None:
        pair = (of_arm if reward is None else reward, trained if cotrain is None else cotrain)
        return next((name for name, value in ARMS.items() if value == pair), None), *pair
    for key, value, own in (("reward", reward, of_arm), ("cotrain", cotrain, trained)):
        if value is not None and value != own:
            raise BadInputError(
                f"{where}{key}: {_yaml(value)} contradicts arm {arm}, which means reward {of_arm} and cotrain"
                f" {_yaml(trained)}; leave one of them out"
            )
    return arm, of_arm, trained


def overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of one layer on top of another's.

    An arm in the upper layer replaces the lower layer's reward and cotrain. A reward or cotrain in the upper layer
    replaces that one setting of the lower layer's arm.
    """
    kept = dict(below)
    if above.get("arm") is not None:
        kept.pop("reward", None)
        kept.pop("cotrain", None)
    elif kept.get("arm") is not None and ("reward" in above or "cotrain" in above):
        kept["reward"], kept["cotrain"] = ARMS[kept.pop("arm")]
    return {**kept, **above}


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
