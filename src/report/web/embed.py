"""Writes the template, the script and the style of the pages as a C++ source file.

Script and style come with the hashes by which a page's Content-Security-Policy names them, so that the page can neither
load nor run anything else. src/report/page.cc puts the pieces together at run time.
"""

import argparse
import base64
import hashlib
import pathlib
import re
import sys

MARKS = ("POLICY", "TITLE", "STYLE", "DATA", "SCRIPT")  # what page.cc puts into the template
CHUNK = 2000  # bytes of one string literal; compilers join neighbours


def read(path: pathlib.Path) -> str:
    # HTML parsers turn CRLF into LF before they hash a script.
    return path.read_text(encoding="utf-8").replace("\r\n", "\n")


def policy_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def literal(data: bytes) -> str:
    escapes = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x09: "\\t", 0x3F: "\\?"}
    # Three octal digits end an escape whatever follows.
    return "".join(escapes.get(b) or (chr(b) if 0x20 <= b < 0x7F else f"\\{b:03o}") for b in data)


def array(name: str, text: str) -> str:
    data = text.encode()
    lines = [f'    "{literal(data[i : i + CHUNK])}"' for i in range(0, len(data), CHUNK)]
    return (
        f"const std::string_view {name}{{\n"
        + "\n".join(lines or ['    ""'])
        + f",\n    {len(data)}}};\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--web", type=pathlib.Path, required=True, help="folder of template.html and style.css"
    )
    parser.add_argument(
        "--bundle", type=pathlib.Path, required=True, help="the script made by esbuild"
    )
    parser.add_argument("--out", type=pathlib.Path, required=True, help="C++ file to write")
    options = parser.parse_args()

    script = read(options.bundle).strip()
    style = read(options.web / "style.css").strip()
    notices = read(options.web / "notices.txt").strip()
    # Either would end the script element, or hide its end, in the middle of the code.
    for bad in ("</script", "<!--"):
        if bad in script.lower():
            print(
                f'embed.py: {options.bundle}: contains "{bad}"; build it with esbuild for browsers',
                file=sys.stderr,
            )
            return 1
    if "*/" in notices or "</style" in style.lower():
        print(
            f"embed.py: {options.web}: notices.txt or style.css would end its element early",
            file=sys.stderr,
        )
        return 1

    template = read(options.web / "template.html")
    marks = sorted(re.findall(r"@([^@]*)@", template))
    if marks != sorted(MARKS):
        print(f"embed.py: template.html: needs {', '.join(MARKS)}, once each", file=sys.stderr)
        return 1
    # Licences travel with the code, be it inside a page or in a file beside many.
    script = f"/*\n{notices}\n*/\n{script}"

    options.out.write_text(
        '// Written by src/report/web/embed.py.\n#include "report/page_template.h"\n\nnamespace bitsweep::report {\n\n'
        + array("kPageTemplate", template)
        + array("kScript", script) + array("kScriptHash", policy_hash(script))
        + array("kStyle", style) + array("kStyleHash", policy_hash(style))
        + "\n}  // namespace bitsweep::report\n",
        encoding="ascii",
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
