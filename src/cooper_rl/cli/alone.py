"""`cooper verify` where the verifier is installed alone (packaging/verifier): without what the other commands need."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the distribution cooper-rl-verifier."""
    try:
        from cooper_rl.cli.running import command_line, run
        from cooper_rl.cli.verifying import verify
    except ModuleNotFoundError as error:
        sys.stderr.write(f"cooper: error: the command needs {error.name}: pip install 'cooper-rl-verifier[cli]'\n")
        sys.exit(2)
    app = command_line("Judge completions against reference answers by rule.")
    app.callback()(lambda: None)  # so that `verify` is named, as in the whole command line
    app.command("verify")(verify)
    sys.exit(run(app))
