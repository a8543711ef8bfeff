"""`python -m tilespec`."""

from tilespec.cli import main

if __name__ == "__main__":
    main()
