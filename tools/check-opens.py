#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that files are opened by path only where no agent can change what the path leads to.

    tools/check-opens.py [ROOT]

What an agent can write is opened by os/file_untrusted and os/file_folder. Any other call that
follows a path, outside of src/os, says why the path is out of agents' reach, or why it does not
matter: in a comment "opens: REASON" on its line or directly above, or, for all calls of a file,
"all opens: REASON" in the comment at its head. Exit code 1 and one line for each call without a
reason, and for each reason without a call, else 0.
"""

import pathlib
import re
import sys

# What takes a path and follows it, of the C library, of SQLite and of os/file.h.
CALLS = (
    "open openat open64 creat fopen freopen opendir scandir nftw realpath stat stat64 lstat fstatat access faccessat "
    "readlink truncate mkstemp mkostemp mkdtemp tmpfile rename renameat mkdir mkdirat rmdir unlink unlinkat remove "
    "symlink link chmod chown utimensat sqlite3_open_v2 file_read file_replace file_replace_durably "
    "file_make_folder file_remove_tree file_exists file_state_look file_open_folder"
).split()
CALL = re.compile(r"(?<![\w.>])(" + "|".join(CALLS) + r")\(")
REASON = re.compile(r"\bopens: *\w")
WHOLE_FILE = re.compile(r"\ball opens: *\S{2,}")
# A reason and the beginning of the statement are at most this many lines above a call.
LINES_ABOVE = 4


def code_and_comments(text):
    """The lines of a C file twice: without comments and literals, and the comments alone."""
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
    def keep_lines(part):
        return re.sub(r"[^\n]", " ", part)

    code = token.sub(lambda match: keep_lines(match.group()), text)
    comments = []
    last = 0
    for match in token.finditer(text):
        is_comment = match.group().startswith(("/*", "//"))
        comments.append(keep_lines(text[last : match.start()]))
        comments.append(match.group() if is_comment else keep_lines(match.group()))
        last = match.end()
    comments.append(keep_lines(text[last:]))
    return code.split("\n"), "".join(comments).split("\n")


def is_declaration(line):
    """A function's own head, and its declaration: a type and a name at the margin."""
    return re.match(r"(static |extern |inline )*(struct |enum |const )*\w[\w ]* \**\w+\(", line) is not None


def reason_line(code, comments, number):
    """The line of the reason for a call in line `number`: there, or above its statement; or None."""
    if REASON.search(comments[number]):
        return number
    for above in range(number - 1, max(-1, number - 1 - LINES_ABOVE), -1):
        if code[above].rstrip().endswith((";", "{", "}")):
            return None
        if REASON.search(comments[above]):
            return above
    return None


def problems_of(path, shown):
    code, comments = code_and_comments(path.read_text(errors="replace"))
    is_whole = any(WHOLE_FILE.search(line) for line in comments)
    used = set()
    problems = []
    for number, line in enumerate(code):
        calls = [] if is_declaration(line) else CALL.findall(line)
        if not calls:
            continue
        reason = reason_line(code, comments, number)
        if reason is not None:
            used.add(reason)
        elif not is_whole:
            problems.append(
                f"{shown}:{number + 1}: {calls[0]}() follows a path: use os/file_untrusted.h or os/file_folder.h, "
                'or say why no agent can change it ("opens: REASON")'
            )
    for number, line in enumerate(comments):
        if REASON.search(line) and not WHOLE_FILE.search(line) and number not in used:
            problems.append(f"{shown}:{number + 1}: a reason without a call that it is for")
    return problems


def main():
    default = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    problems = []
    for path in sorted((root / "src").rglob("*.[ch]")):
        relative = path.relative_to(root)
        if relative.parts[1] != "os":
            problems += problems_of(path, relative)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
