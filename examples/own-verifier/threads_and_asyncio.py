"""One verifier for many threads and for asyncio. The third answer would hold math-verify for hours.

python examples/own-verifier/threads_and_asyncio.py

prints after about 4 seconds:

threads: CORRECT INCORRECT TIMEOUT
asyncio: CORRECT INCORRECT TIMEOUT
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from cooper_rl import RuleVerifier

REFERENCES = ["1/2", "12", "12"]
COMPLETIONS = [r"So it is \boxed{0.5}.", "The answer is 13.", "$5^{5^{5^{5^5}}}$"]


def main() -> None:
    """Judges the same answers in both ways."""
    with RuleVerifier(workers=2, deadline_seconds=1.0) as verifier:
        with ThreadPoolExecutor(8) as threads:
            print("threads:", *threads.map(verifier.verify, REFERENCES, COMPLETIONS))
        print("asyncio:", *asyncio.run(verifier.averify_many(REFERENCES, COMPLETIONS)))


if __name__ == "__main__":
    main()
