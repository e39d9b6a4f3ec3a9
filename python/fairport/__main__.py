"""`python -m fairport`: the command line."""

from fairport.cli import main

if __name__ == "__main__":
    main()
