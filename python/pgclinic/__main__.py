"""``python -m pgclinic``, where the command is not on the path."""

from pgclinic.cli.main import main

main()
