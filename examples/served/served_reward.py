"""The reward of `cooper serve` for TRL's GRPOTrainer: copy this file beside your script. It needs httpx alone.

    from served_reward import cooper

    trainer = GRPOTrainer(model, reward_funcs=[cooper], args=config, train_dataset=dataset)

The data set has the columns `question` and `reference_answer`. The server's address is in the environment variable
COOPER_SERVE_URL, its token, if it has one, in COOPER_SERVE_TOKEN.
"""

import asyncio
import hashlib
import json
import logging
import os
import time

import httpx

logger = logging.getLogger(__name__)
URL = os.environ.get("COOPER_SERVE_URL", "http://127.0.0.1:8700")
PATIENCE = 600.0  # seconds for which a call is sent again while the server is away or busy


async def cooper(prompts, completions, question, reference_answer, trainer_state, log_metric=None, **_):
    """The reward of each completion. Those of training are learned from, those of an evaluation are only scored.

    A batch has its step and a fingerprint of its texts as its name. So a trainer that is started again gets the
    recorded answers where it writes the same texts, and is learned from anew where it writes others.
    """
    texts = [text if isinstance(text, str) else text[-1]["content"] for text in completions]
    rows = list(zip(question, reference_answer, texts, strict=True))
    trainer = getattr(log_metric, "__self__", None)  # the function is one of its methods
    name, use = "evaluation", {}
    if trainer is None or trainer.model.training:
        fingerprint = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]
        name = f"step {trainer_state.global_step + 1} {fingerprint}"
        use = {"batch": name, "last": True}
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:  # each rank has a part; the server gathers them
            name, use = f"{name} {os.environ['RANK']}", {"gather": "trl"}
    samples = [
        {"id": f"{name} {place}", "question": problem, "reference_answer": answer, "completion": text}
        for place, (problem, answer, text) in enumerate(rows)
    ]
    return (await ask({"samples": samples, **use}))["rewards"]


async def ask(call):
    """The server's answer to a call. It is sent again while the server is busy, stopping or being started again.

    Raises:
        RuntimeError: with the server's own line, where it refuses the call, or is away for too long.
    """
    token, end = os.environ.get("COOPER_SERVE_TOKEN"), time.monotonic() + PATIENCE
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(timeout=PATIENCE, headers=headers) as client:
        while True:
            try:
                answer = await client.post(f"{URL}/score", json=call)
            except httpx.TransportError as error:
                again, line = True, f"{type(error).__name__}: {error}"
            else:
                if answer.is_success:
                    return answer.json()
                again, line = "Retry-After" in answer.headers, f"{answer.status_code}: {line_of(answer)}"
            if not again or time.monotonic() > end:
                raise RuntimeError(f"cooper serve at {URL}: {line}")
            logger.warning("cooper serve at %s: %s; the call is sent again", URL, line)
            await asyncio.sleep(1)


def line_of(answer):
    """The server's line about an error, or the begin of what something else than the server has answered."""
    try:
        return answer.json()["error"]
    except (ValueError, TypeError, KeyError):
        return answer.text[:200]
