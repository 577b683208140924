#!/usr/bin/python3
"""What can be checked of the documentation without running it.

- Links to files and headings lead somewhere.
- Pages for users (README.md, docs/*.md) are short: 150 lines, no sentence of
  more than 35 words, no paragraph of more than 80.
"""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test"))
import xunit  # noqa: E402

PAGES = ["README.md", "docs/**/*.md", "examples/*.md", "benchmarks/**/*.md", "test/**/*.md"]
MOST_LINES, MOST_WORDS_A_SENTENCE, MOST_WORDS_A_PARAGRAPH = 150, 35, 80


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def without_code(text):
    """The text with its fenced blocks as empty lines, so that line numbers stay."""
    return re.sub(r"(?ms)^( *)(```+).*?^\1\2 *$", lambda block: "\n" * block[0].count("\n"), text)


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ +(.*?)\s*$", without_code(text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken_links(path, text, exists, load):
    """Messages about links of `path` that lead nowhere."""
    for link in re.finditer(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", without_code(text)):
        target, anchor = link[1], link[2]
        if target.startswith(("http:", "https:")):
            continue
        line = without_code(text).count("\n", 0, link.start()) + 1
        other = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not exists(other):
            yield f"{path}:{line}: there is no {other}"
        elif anchor and other.endswith(".md") and anchor[1:] not in anchors(load(other)):
            yield f"{path}:{line}: {other} has no heading {anchor}"


def paragraphs(text):
    """(line, words as one string) of each paragraph and list item; no code, tables and headings."""
    current, start = [], 0
    for number, line in enumerate(without_code(text).split("\n") + [""], 1):
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+(.*)", line)
        ends = not line.strip() or line.lstrip().startswith(("|", "#")) or item
        if ends and current:
            yield start, " ".join(current)
            current = []
        if item or not ends:
            start = start if current else number
            current.append(item[1] if item else line.strip())


def words(text):
    return len(re.sub(r"`[^`]*`", "X", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)).split())


def long_texts(path, text):
    """Messages about what is too long in a page for users."""
    lines = text.count("\n")
    if lines > MOST_LINES:
        yield f"{path}: {lines} lines; at most {MOST_LINES}"
    for line, paragraph in paragraphs(text):
        if words(paragraph) > MOST_WORDS_A_PARAGRAPH:
            yield f"{path}:{line}: a paragraph of {words(paragraph)} words; at most {MOST_WORDS_A_PARAGRAPH}"
        for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`\[(\"*])", paragraph):
            if words(sentence) > MOST_WORDS_A_SENTENCE:
                yield f"{path}:{line}: a sentence of {words(sentence)} words; at most {MOST_WORDS_A_SENTENCE}"


def main():
    pages = sorted({
        os.path.relpath(path, ROOT)
        for pattern in PAGES
        for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)
    })
    links, lengths = [], []
    for path in pages:
        text = read(path)
        links += broken_links(path, text, lambda other: os.path.exists(os.path.join(ROOT, other)), read)
        if path == "README.md" or os.path.dirname(path) == "docs":
            lengths += long_texts(path, text)

    def seen(problems):
        return None if list(problems) else "was not seen"

    long = "# A\n\n" + "word " * 36 + ".\n"
    results = [
        ("pages are found", 0, None if len(pages) > 40 else f"only {len(pages)} pages"),
        ("links lead somewhere", 0, "\n".join(links) or None),
        ("pages for users are short", 0, "\n".join(lengths) or None),
        # The checks see what they are there for.
        ("a link to no file is seen", 0, seen(broken_links("a.md", "[b](b.md)", lambda _: False, None))),
        ("a link to no heading is seen", 0, seen(broken_links("a.md", "[b](b.md#c)", lambda _: True, lambda _: "# d"))),
        ("a long sentence is seen", 0, seen(long_texts("a.md", long))),
        ("a long paragraph is seen", 0, seen(long_texts("a.md", "Few words here.\n" * 30))),
        ("a long page is seen", 0, seen(long_texts("a.md", "\n" * 151))),
    ]
    for _, _, problem in results:
        if problem:
            print(problem)
    return xunit.finish("pages", results)


if __name__ == "__main__":
    sys.exit(main())
