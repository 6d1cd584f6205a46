"""`python -m generate` writes the generated files; `--check` only says which are not current."""

import argparse
import sys

from config.generate.files import REPOSITORY, generated_files


def main() -> None:
    """Write, or check; exit code 1 if a file is not current, 2 for a bad threshold."""
    parser = argparse.ArgumentParser(prog="python -m generate")
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    try:
        files = generated_files()
    except ValueError as error:
        sys.exit(f"thresholds.toml: {error}")
    behind = 0
    for path, content in files.items():
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        behind += 1
        print(path.relative_to(REPOSITORY), "is not current" if check else "written")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    if check and behind:
        sys.exit("run `make generate`")


if __name__ == "__main__":
    main()
