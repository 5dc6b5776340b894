"""`python -m cooper_rl.cli` is `cooper`."""

from cooper_rl.cli.entry import main

if __name__ == "__main__":
    main()
