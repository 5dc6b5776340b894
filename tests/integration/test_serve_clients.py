"""The examples of docs/cooper-in-your-trainer.md, each called as its trainer calls it.

The tests of a trainer's own code run where it is installed. Its environment may be another than the server's, whose
Python COOPER_SERVER_PYTHON then names.
"""

import asyncio
import importlib
import importlib.util
import pickle
import re
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from accelerate import PartialState

from cooper_rl.serve.http import make_core
from cooper_rl.settings.asking import ServeSettings
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.verifiers import RuleVerifier
from served import ROOT, Served, bodies, words

PAGE = (ROOT / "docs" / "cooper-in-your-trainer.md").read_text()
RIGHT, WRONG = "1 + 1 = 2. The answer is 2.", "1 + 1 = 3. The answer is 3."
QUESTION = "What is 1 + 1?"


def example(name, url, folder):
    """A module with an example of the page, which asks this server."""
    (code,) = re.findall(rf"<!-- {name} -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert code.count("http://127.0.0.1:8700") == 1
    path = folder / f"{name.replace(' ', '_')}_reward.py"
    path.write_text(code.replace("http://127.0.0.1:8700", url))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def served_reward(url, monkeypatch, **environment):
    """The example's reward function for TRL, imported as a script imports its copy of it."""
    for name, value in {"COOPER_SERVE_URL": url, **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "served"))
    sys.modules.pop("served_reward", None)
    return importlib.import_module("served_reward")


def trl_trainer(folder, reward, **chosen):
    """TRL's own trainer of the nano policy, unchanged, and the list that gets the rewards of each call."""
    from trl import GRPOConfig, GRPOTrainer

    from cooper_rl.domains import load_problems
    from cooper_rl.engines.trl.rows import training_rows
    from cooper_rl.settings.files import resolve_model

    seen = []

    async def watched(**columns):
        seen.append(await reward(**columns))
        return seen[-1]

    settings = {
        "output_dir": str(folder),
        "seed": 0,
        "max_steps": 2,
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 32,
        "learning_rate": 2e-4,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
        "model_init_kwargs": {"dtype": "float32"},
    }
    rows = training_rows(load_problems("nano-weekdays", size=40))
    trainer = GRPOTrainer(
        resolve_model("nano-weekdays", "policy"),
        [watched],
        args=GRPOConfig(**{**settings, **chosen}),
        train_dataset=rows.select(range(32)),
        eval_dataset=rows.select(range(32, 40)),
    )
    return trainer, seen


def trl_run(folder, reward):
    """Trains for two steps; gives the rewards of each step and the policy."""
    trainer, seen = trl_trainer(folder, reward)
    trainer.train()
    return seen, trainer.model.state_dict()


@pytest.mark.slow
def test_trl_learns_through_the_server_as_in_one_process(tmp_path, monkeypatch):
    from cooper_rl.records import Sample

    recipe = load_recipe("recipes/quickstart.yaml", words(tmp_path / "core"), command="serve")
    settings = ServeSettings.from_recipe(recipe)
    with RuleVerifier(settings.verifier, workers=1) as verifier:
        core = make_core(settings, verifier)
        core.begin()

        async def in_process(completions, question, reference_answer, trainer_state, **_):
            texts = (completion[-1]["content"] for completion in completions)
            step = trainer_state.global_step + 1
            batch = core.score([Sample(*row) for row in zip(question, reference_answer, texts, strict=True)], step)
            core.learn(batch, saving=step % 2 == 0)
            return list(batch.rewards)

        expected, policy = trl_run(tmp_path / "expected", in_process)
    served = Served(tmp_path / "served", num_generations=4)
    found, same = trl_run(tmp_path / "found", served_reward(served.url, monkeypatch).cooper)
    learned = served.client.post("/save").json()  # which waits for the learning
    served.stop()
    assert found == expected and len(found) == 2 and learned["version"] == core.reward_model.version > 0
    assert all(torch.equal(policy[name], same[name]) for name in policy)
    weights = core.reward_model.reward_model.model.state_dict()
    from safetensors.torch import load_file

    saved = load_file(tmp_path / "served" / "checkpoint-2" / "reward_model" / "model.safetensors")
    assert all(torch.equal(weights[name], saved[name]) for name in saved)


def learned(server):
    """The server's step, once it has learned from what was complete. Tests that count steps have seeds of their own."""
    return server.client.post("/save").json()["step"]


def test_trls_evaluation_is_scored_and_not_learned_from(server, tmp_path, monkeypatch):
    before, reward = learned(server), served_reward(server.url, monkeypatch).cooper
    evaluated = {"eval_strategy": "steps", "eval_steps": 1, "per_device_eval_batch_size": 8}
    trainer, seen = trl_trainer(tmp_path, reward, max_steps=3, **evaluated)
    trainer.train()
    rewards = [row["eval_reward"] for row in trainer.state.log_history if "eval_reward" in row]
    assert len(rewards) == 3 and len(seen) > 6  # of 3 steps and 3 evaluations
    assert learned(server) == before + 3


def test_trls_trainer_goes_on_from_a_checkpoint(server, tmp_path, monkeypatch):
    before, reward = learned(server), served_reward(server.url, monkeypatch).cooper
    saved = {"seed": 1, "max_steps": 3, "save_strategy": "steps", "save_steps": 1}
    trainer, first = trl_trainer(tmp_path, reward, **saved)
    trainer.train()
    assert learned(server) == before + 3
    again, same = trl_trainer(tmp_path, reward, **saved)  # as after a kill in step 3: it writes the same texts again
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-1"))
    assert same == first[1:] and learned(server) == before + 3
    assert all(torch.equal(a, b) for a, b in zip(trainer.model.parameters(), again.model.parameters(), strict=True))
    for other in (tmp_path / "checkpoint-1", None):  # other texts in the same steps, after a checkpoint and anew
        trainer, others = trl_trainer(tmp_path, reward, **saved, temperature=1.3)
        if other:
            (other / "rng_state.pth").unlink()
        trainer.train(resume_from_checkpoint=other and str(other))
        assert len(others) == (2 if other else 3)
    assert learned(server) == before + 3 + 2 + 3


@pytest.mark.parametrize(
    ("chosen", "generations"),
    [
        ({"seed": 2, "gradient_accumulation_steps": 4, "steps_per_generation": 2}, 4),  # two a step
        ({"seed": 3, "steps_per_generation": 2, "num_iterations": 2, "max_steps": 8}, 2),  # one for four steps
    ],
    ids=["several a step", "one for several steps"],
)
def test_trls_generations_are_not_its_steps(server, tmp_path, monkeypatch, chosen, generations):
    before, reward = learned(server), served_reward(server.url, monkeypatch).cooper
    trainer, seen = trl_trainer(tmp_path, reward, **chosen)
    trainer.train()
    assert [len(rewards) for rewards in seen] == [16] * generations
    assert learned(server) == before + generations


def test_trls_ranks_are_gathered(server, monkeypatch):
    """Two ranks with a part each: the server's gather_samples is that of both."""
    before, module = learned(server), served_reward(server.url, monkeypatch)
    rows = bodies(61)[:8]
    for rank, part in enumerate((rows[:4], rows[4:], rows[:4])):  # the first one sends its part again
        monkeypatch.setenv("WORLD_SIZE", "2")
        monkeypatch.setenv("RANK", str(rank % 2))
        columns = {name: [row[name] for row in part] for name in ("question", "reference_answer")}
        texts = [row["completion"] for row in part]
        state = SimpleNamespace(global_step=0)
        asyncio.run(module.cooper(prompts=[], completions=texts, trainer_state=state, **columns))
    assert learned(server) == before + 1


def test_a_refusal_is_shown_with_the_servers_own_line(server, tmp_path, monkeypatch):
    reward = served_reward(server.url, monkeypatch).cooper
    trainer, _ = trl_trainer(tmp_path, reward, seed=4)
    trainer.train_dataset = trainer.train_dataset.map(lambda row: {"reference_answer": " "})
    with pytest.raises(
        RuntimeError, match=r"^cooper serve at \S+: 400: sample 'step 1 .* 0': reference_answer is empty$"
    ):
        trainer.train()


def test_a_call_is_sent_again_while_the_server_is_away(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    module = served_reward(f"http://127.0.0.1:{port}", monkeypatch)
    call = {"batch": "again", "samples": bodies(60)}

    async def ask():
        asking = asyncio.create_task(module.ask(call))
        served = await asyncio.to_thread(Served, tmp_path, port=port)
        return served, await asking

    served, found = asyncio.run(ask())
    assert found["rewards"] == served.score(bodies(60), batch="again").json()["rewards"]
    served.stop()
    monkeypatch.setattr(module, "PATIENCE", 0.5)
    with pytest.raises(RuntimeError, match=r"cooper serve at \S+: ConnectError: "):
        asyncio.run(module.ask(call))


def test_trl_async_scores_groups(server, tmp_path):
    from trl.experimental.async_grpo.async_rollout_worker import RolloutGroup, _AsyncRolloutLoop

    PartialState()  # as TRL's trainer has made it; the loop writes its log by it
    reward = example("trl async", server.url, tmp_path).cooper
    loop = _AsyncRolloutLoop.__new__(_AsyncRolloutLoop)
    loop.reward_funcs, loop.reward_func_names, loop._env_reward_types = [pickle.loads(pickle.dumps(reward))], ["r"], []
    sequence = SimpleNamespace(input_ids=[1], completion_mask=[1], old_log_probs=[0.0])
    group = RolloutGroup(
        prompts=[[{"role": "user", "content": QUESTION}]] * 2,
        reward_kwargs={"question": [QUESTION] * 2, "reference_answer": ["2"] * 2},
        completions=[[{"role": "assistant", "content": text}] for text in (RIGHT, WRONG)],
        completions_ids=[[1], [1]],
        completions_sequences=[[sequence], [sequence]],
        tool_call_counts=[0, 0],
        tool_failure_counts=[0, 0],
        model_version=0,
        group_id=0,
        env_rewards=[],
        rollout_rewards=[None, None],
    )
    scored = asyncio.run(loop._score_group(group))
    assert [sample.metrics["reward"] for sample in scored] == [1.0, 0.0]


def verl_arguments(text):
    """As verl's NaiveRewardManager gives them, with the columns of verl's own data preparation."""
    info = {"split": "train", "index": 0, "answer": "#### 2", "question": QUESTION, "num_turns": None}
    extra = {"extra_info": {**info, "rollout_reward_scores": {}}}
    return {"data_source": "openai/gsm8k", "solution_str": text, "ground_truth": "2", **extra}


def test_verl_calls_for_one_completion(server, tmp_path):
    score = example("verl", server.url, tmp_path).compute_score
    found = [asyncio.run(score(**verl_arguments(text))) for text in (RIGHT, WRONG)]
    assert [(each["score"], each["rule"]) for each in found] == [(1.0, True), (0.0, False)]
    assert {type(each["cooper_version"]) for each in found} == {int}


def test_verls_own_reward_manager(server, tmp_path):
    pytest.importorskip("verl")
    import numpy as np
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl import DataProto
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
    from verl.trainer.ppo.reward import get_custom_reward_fn

    from cooper_rl.settings.files import resolve_model

    path = example("verl", server.url, tmp_path).__file__
    settings = {"reward": {"custom_reward_function": {"path": path, "name": "compute_score"}}}
    tokenizer = AutoTokenizer.from_pretrained(resolve_model("nano", "policy"))

    async def run(text):
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        arguments = verl_arguments(text)
        data = DataProto.from_dict(
            tensors={"responses": ids, "attention_mask": torch.ones_like(ids), "prompts": ids[:, :1]},
            non_tensors={
                "data_source": np.array([arguments["data_source"]], dtype=object),
                "reward_model": np.array([{"ground_truth": "2"}], dtype=object),
                "extra_info": np.array([arguments["extra_info"]], dtype=object),
            },
        )
        config = OmegaConf.create(settings)
        manager = NaiveRewardManager(config, tokenizer, get_custom_reward_fn(config))
        manager.loop = asyncio.get_running_loop()
        return await manager.run_single(data)

    found = [asyncio.run(run(text)) for text in (RIGHT, WRONG)]
    assert [each["reward_score"] for each in found] == [1.0, 0.0]
    assert found[0]["reward_extra_info"]["rule"] is True


def test_openrlhf_posts_query_prompts_labels(server):
    query = [f"{QUESTION}{RIGHT}<|endoftext|>", f"<s>{QUESTION}{WRONG}</s>"]
    call = {"query": query, "prompts": [QUESTION] * 2, "labels": ["2", "2"]}
    found = server.client.post("/openrlhf", json=call).json()
    assert found["rewards"] == found["scores"] == [1.0, 0.0] and found["extra_logs"]["cooper_rule"] == [1.0, 0.0]
    bad = server.client.post("/openrlhf", json={**call, "prompts": ["other"] * 2})
    assert bad.status_code == 400 and "query" in bad.json()["error"]
    assert server.client.post("/openrlhf", json={**call, "labels": []}).status_code == 400


def test_openrlhfs_own_client(server):
    spec = importlib.util.find_spec("openrlhf")
    if spec is None:
        pytest.skip("openrlhf is not installed")
    path = Path(spec.submodule_search_locations[0]) / "utils" / "agent.py"
    sys.modules.setdefault("openrlhf.utils", SimpleNamespace(__path__=[]))  # whose own imports need a GPU's packages
    logging = SimpleNamespace(init_logger=lambda name: SimpleNamespace(info=print))
    sys.modules.setdefault("openrlhf.utils.logging_utils", logging)
    spec = importlib.util.spec_from_file_location("openrlhf_agent", path)
    agent = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(agent)

    async def run():
        executor = agent.SingleTurnAgentExecutor(f"{server.url}/openrlhf")
        return await executor._fetch_rewards_via_http([f"{QUESTION}{RIGHT}"], [QUESTION], ["2"])

    (found,) = asyncio.run(run())
    assert found["rewards"] == [1.0] and found["extra_logs"]["cooper_rule"] == [1.0]


def test_slime_gets_a_number(server):
    call = {"prompt": QUESTION, "response": f"{RIGHT}<|im_end|>", "label": "2"}
    assert server.client.post("/slime", json=call).json() == 1.0
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": QUESTION}]
    assert server.client.post("/slime", json={**call, "prompt": chat, "response": WRONG}).json() == 0.0
    assert server.client.post("/slime", json={**call, "prompt": []}).status_code == 400


def test_slimes_reward_function(server, tmp_path):
    reward = example("slime", server.url, tmp_path).cooper
    made = [
        SimpleNamespace(index=i, group_index=0, prompt=QUESTION, response=text, label="2")
        for i, text in enumerate((RIGHT, WRONG))
    ]
    assert asyncio.run(reward(None, made)) == [1.0, 0.0]
    assert asyncio.run(reward(None, made)) == [1.0, 0.0]  # sent again, the same samples
    evaluated = SimpleNamespace(index=0, group_index=None, prompt=QUESTION, response=WRONG, label="2")
    assert asyncio.run(reward(None, evaluated)) == 0.0


def test_a_rubrics_function(server, tmp_path):
    reward = example("rubric", server.url, tmp_path).cooper
    chat = {"prompt": [{"role": "user", "content": QUESTION}], "completion": [{"role": "assistant", "content": RIGHT}]}
    assert asyncio.run(reward(**chat, answer="2", state={}, info={})) == 1.0


def test_verifiers_own_task(server, tmp_path):
    vf = pytest.importorskip("verifiers.v1")
    module = example("verifiers", server.url, tmp_path)
    task = module.CooperTask(module.Problem(question=QUESTION, answer="2", prompt=QUESTION), vf.TaskConfig())
    trace = SimpleNamespace(last_reply=RIGHT, metrics={}, rewards={})
    trace.record_reward = lambda name, value, weight=1.0: trace.rewards.update({name: value * weight})
    asyncio.run(task.score(trace, None))
    assert trace.rewards == {"cooper": 1.0}
