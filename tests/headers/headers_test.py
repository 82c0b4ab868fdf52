# SPDX-License-Identifier: Apache-2.0
"""Compiles the public headers in every order and language that users may.

headers_test.py --include DIR [--official FILE]

Without --official: each header alone and twice, and the DLPack facts against dlbridge's dlpack.h.
With it: dlbridge's headers before and after that official dlpack.h, and the same facts against the
official one. If that file is missing: a message and exit status 77.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
STANDARDS = {".c": ("c99", "c11"), ".cc": ("c++11", "c++17", "c++20")}
HEADERS = ("dlpack.h", "dlbridge.h")
OURS = 199  # dlbridge's header has upstream's additions after 1.3
USER = '#include "user.h"\n'
LAYOUT = '#include "dlpack_layout.h"\n'


def official_version(path):
    """(text, number) of an official header, such as ('1.3', 103) or ('0.6', 6)."""
    defines = dict(re.findall(r"#define (DLPACK_\w*VERSION) +(\d+)", path.read_text()))
    if "DLPACK_MAJOR_VERSION" in defines:
        major, minor = int(defines["DLPACK_MAJOR_VERSION"]), int(defines["DLPACK_MINOR_VERSION"])
    else:
        major, minor = divmod(int(defines["DLPACK_VERSION"]), 100)
        minor //= 10
    return f"{major}.{minor}", major * 100 + minor


def facts(number, standard):
    """Includes the layout facts, which need C11."""
    return "" if standard == "c99" else f"#define DLPACK_FACTS {number}\n{LAYOUT}"


# Must be rejected, to show that the compilations can fail: wrong facts, a narrowing conversion.
WRONG = (
    "#define DLPACK_FACTS 199\n" + LAYOUT + "SIZE(DLTensor, 49, 8);\n",
    "#define DLPACK_FACTS 199\n" + LAYOUT + "FIELD(DLTensor, ndim, 20, 4);\n",
    "#define DLPACK_FACTS 199\n" + LAYOUT + "VALUE(kDLTrn, 19);\n",
    "static inline int narrow(int64_t wide) { return wide; }\n",
    "static int unused(void) { return 0; }\n",
)


def sources_wrong():
    for text in WRONG:
        yield text.splitlines()[-1], '#include "dlbridge/dlbridge.h"\n' + text


def sources_alone(standard):
    """Label and text of each source with dlbridge's headers only."""
    for header in HEADERS:
        include = f'#include "dlbridge/{header}"\n'
        yield f"{header} alone", include + "typedef DLTensor used;\n"
        yield f"{header} twice", include + include + "typedef DLTensor used;\n"
    yield "ours", '#include "dlbridge/dlbridge.h"\n' + USER + facts(OURS, standard)


def sources_official(path, standard):
    """Label and text of each source with an official header."""
    _, number = official_version(path)
    official = f'#include "{path}"\n'
    # From 1.3 on a header may or may not have the newer constants, so dlbridge's adds none.
    after = number if number >= 103 else OURS
    yield "official alone", official + facts(number, standard)
    for header in HEADERS:
        ours = f'#include "dlbridge/{header}"\n'
        user = USER if header == "dlbridge.h" else ""
        yield f"{header} after it", official + ours + user + facts(after, standard)
        yield f"{header} before it", ours + official + user + facts(OURS, standard)


def compile_one(compiler, standard, suffix, include, text):
    """The compiler's messages; empty if it accepts the text."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / f"source{suffix}"
        source.write_text(text)
        done = subprocess.run(
            [
                compiler,
                f"-std={standard}",
                *WARNINGS,
                "-I",
                include,
                "-I",
                HERE,
                "-S",
                "-o",
                source.with_suffix(".s"),
                source,
            ],
            capture_output=True,
            text=True,
        )
    return "" if done.returncode == 0 else done.stderr or f"exit status {done.returncode}"


def compile_all(include, official):
    """Failures as pairs of label and message, and the number of compiled sources."""
    jobs = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:

        def start(compiler, standard, suffix, sources, wrong=False):
            for label, text in sources:
                job = pool.submit(compile_one, compiler, standard, suffix, include, text)
                jobs.append((f"{compiler} {standard}: {label}", job, wrong))

        for compiler in ("gcc", "clang"):
            for suffix, standards in STANDARDS.items():
                for standard in standards:
                    start(
                        compiler,
                        standard,
                        suffix,
                        sources_official(official, standard)
                        if official
                        else sources_alone(standard),
                    )
                if not official:
                    start(compiler, standards[-1], suffix, sources_wrong(), wrong=True)
    failed = [
        (label, "accepted" if wrong else job.result())
        for label, job, wrong in jobs
        if bool(job.result()) != wrong
    ]
    return failed, len(jobs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--official", help="a dlpack.h that is not ours")
    options = parser.parse_args()
    official = pathlib.Path(options.official) if options.official else None
    if official and not official.is_file():
        print(f"skipped: {official} is not at hand")
        return 77
    print(f"{official}: DLPack {official_version(official)[0]}" if official else "ours alone")

    failed, count = compile_all(options.include, official)
    for label, message in failed:
        print(f"FAILED {label}\n{message}")
    print(f"{count - len(failed)} of {count} as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
