"""Build the documentation site, without asking anything outside of this machine.

    python tools/build_docs.py                  into build/site; open build/site/index.html
    python tools/build_docs.py --out DIR        elsewhere
    python tools/build_docs.py --reports        with a live report on the page of every model: some minutes more
    python tools/build_docs.py --reports chain vessel-crane     ... of these

Whatever is wrong, a link that leads nowhere or a name that does not exist, ends it with status 1. Needs pip install ".[docs]".
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Build the site."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="where the site goes (default: build/site)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave what Sphinx is given in this folder, to look at it")
    parser.add_argument("--reports", nargs="*", metavar="MODEL", help="run models and show live reports on their pages")
    arguments = parser.parse_args()
    # Of what is installed beside Kingpost, nothing belongs into its documentation.
    os.environ["KINGPOST_LOAD_PLUGINS"] = ""
    from docsite.model_pages import write_reports
    from docsite.stage import staged
    from sphinx.cmd.build import build_main

    with tempfile.TemporaryDirectory() as folder:
        source = arguments.keep or Path(folder) / "source"
        reports = write_reports(Path(folder) / "reports", arguments.reports) if arguments.reports is not None else []
        staged(reports).write(source)
        words = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(ROOT / "tools" / "docsite"), "-d", f"{folder}/trees"]
        shutil.rmtree(arguments.out, ignore_errors=True)
        status: int = build_main([*words, str(source), str(arguments.out)])
        if reports:
            shutil.copytree(Path(folder) / "reports", arguments.out, dirs_exist_ok=True)
    if status == 0:
        shutil.rmtree(arguments.out / ".doctrees", ignore_errors=True)
        (arguments.out / ".buildinfo").unlink(missing_ok=True)
        print(f"{sum(1 for _ in arguments.out.rglob('*.html'))} pages in {arguments.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
