"""``python -m tessera_rules.cli``."""

import sys

from tessera_rules.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
