"""The prose of the repository: docstrings, comments, sentences of documents; its length by package is printed here."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.layout.source_tree import PRODUCT, ROOT, modules, packages, parsed, shown

DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "models/CARD.md", ROOT / "benchmarks/README.md"]
)
_CODE = re.compile(r"^```.*?^```[^\n]*$", re.MULTILINE | re.DOTALL)
# What ends a paragraph, so that no sentence goes on behind it: a blank line, a heading, an item, a cell of a table.
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*#>|]|\d+\.) )|(?<!\\)\||^#+ .*$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])[)\"*_]*\s+(?=[\"(*_`\[A-Z0-9])")
_WORD = re.compile(r"\S*\w\S*")


def words(text: str) -> int:
    """Return the number of words; a link and code in backticks are one each."""
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return len(_WORD.findall(re.sub(r"(`+)[^`]+\1", "code", text)))


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield a file's docstrings, each with its line."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


def sentences(document: Path) -> Iterator[tuple[int, str]]:
    """Yield a document's sentences, each with its line; code in fences is none."""
    text = _CODE.sub(lambda found: "\n" * found[0].count("\n"), document.read_text())
    begin = 0
    for gap in [*_PARAGRAPH.finditer(text), None]:
        line = text.count("\n", 0, begin) + 1
        for sentence in _SENTENCE.split(text[begin : gap.start() if gap else None]):
            yield line, " ".join(sentence.split())
            line += sentence.count("\n")
        begin = gap.end() if gap else 0


def measure(path: Path) -> Counter[str]:
    """Return a file's lines, and its words in docstrings and comments."""
    text = path.read_text()
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    prose = [*comments, *(docstring for _, docstring in docstrings(path))]
    return Counter(lines=text.count("\n"), words=sum(map(words, prose)))


def main() -> None:
    """Print words per line, by package."""
    rows = {shown(package): [*package.glob("*.py")] for package in packages(*PRODUCT)}
    for name, files in {**rows, "product": modules(*PRODUCT), "tests": modules("tests")}.items():
        counted = sum(map(measure, files), Counter[str]())
        lines, prose = counted["lines"], counted["words"]
        sys.stdout.write(f"{name:<28}{lines:>8} lines{prose:>8} words{prose / max(1, lines):>8.2f} a line\n")


if __name__ == "__main__":
    main()
