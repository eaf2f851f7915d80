"""``python -m bregopt`` is the command line."""

from bregopt.cli.main import main

if __name__ == "__main__":
    main()
