"""Rollouts for tests, from their flat fields."""

from cooper_rl.records import Rollout, Sample, Verification


def make_rollout(
    question,
    reference_answer,
    completion,
    score,
    verdict,
    reason,
    reward,
    group,
    problem_id="",
    worked_solution="",
    *,
    several_answers=False,
    answer=None,
    **own,
):
    sample = Sample(question, reference_answer, completion, problem_id, worked_solution, group=group)
    verification = Verification(verdict, reason, several_answers=several_answers, answer=answer)
    return Rollout(sample, verification, score, reward, **own)


def change(rollout, **flat):
    """The rollout with some of its flat fields replaced."""
    return Rollout.from_record({**rollout.to_record(), **flat})
