#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Records what the real oslo.config answers to files and values, into internal/render/rendertest/testdata/oslo.json. The
# reader that the tests of INI rendering rest on is held against these answers. It is run by hand, never by
# 'make generate': it needs a python3 that has oslo.config (Debian: python3-oslo.config).
#
#   hack/oslo-answers.sh [PYTHON]
#
# The random inputs are the same each time.

set -euo pipefail

python=${1:-python3}
out=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/internal/render/rendertest/testdata/oslo.json
work=$(mktemp -d "${TMPDIR:-/tmp}/oslo-answers.XXXXXX")
trap 'rm -rf "${work}"' EXIT

mkdir -p "$(dirname "${out}")"
"${python}" - "${work}/file.conf" >"${work}/oslo.json" <<'END'
import json, random, sys
from importlib.metadata import version

from oslo_config import cfg, iniparser

path = sys.argv[1]


def write(text):
    with open(path, "w", newline="", encoding="utf-8") as f:
        f.write(text)


def read_file(text):
    write(text)
    sections = {}
    try:
        cfg.ConfigParser(path, sections).parse()
    except iniparser.ParseError:
        return {"text": text, "error": True}
    # An option that is given twice has the value that came last.
    return {"text": text, "sections": {s: {k: v[-1] for k, v in o.items()} for s, o in sections.items()}}


def read_value(value):
    """What an option of the value gives; the value is handed over as a file hands it over."""
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt("k"))
    conf.register_opt(cfg.StrOpt("host", default="the-host"))
    conf.register_opt(cfg.StrOpt("x", default="the-x"), group="g")
    write("[DEFAULT]\nk = '%s'\n" % value)
    conf(["--config-file", path], project="none", default_config_files=[], default_config_dirs=[])
    try:
        return {"value": value, "gives": conf.k}
    except (cfg.TemplateSubstitutionError, cfg.NoSuchOptError, cfg.NoSuchGroupError, cfg.ConfigFileValueError):
        return {"value": value, "error": True}


files = [
    "[s]\nk =   a b   \n", "[s]\nk=a\n", "[s]\nk = \"a b \"\n", "[s]\nk = 'a b '\n", "[s]\nk = \"a'\n", "[s]\nk = \"a\n", "[s]\nk = \"\n",
    "[s]\nk = \"\"\n", "[s]\nk = \"\"a\"\"\n", "[s]\nk = \"a\n b\"\n", "[s]\nk = a\n  b\n", "[s]\nk = a\n\tb\n c\n", "[s]\nk =\n b\n", "[s]\nk = a\n\n b\n",
    "[s]\nk = a\n \n b\n", "[s]\nk = a\n#c\n b\n", "[s]\nk = a\n #c\n", "[s]\nk = a # b ; c\n", "[s]\nk = a\n#b = c\n;d = e\n", "[s]\n#k = a\n", "[s]\n k = a\n",
    "[s]\r\nk = a\r\nx = b\r\n", "[s]\nk = a\rx = b\n", "[s]\nk: a=b\n", "[s]\nk=a:b\n", "[s]\nk : a\n", "[s]\nk =\n", "[s]\nk\n", "[s]\n= a\n", "[s]\n: a\n", "[s]\n = a\n",
    "k = a\n", "# k = a\n[s]\nk = a\n", "[s]\n  a\n", "[s] # x\n", "[s]x\nk = a\n", "[]\nk = a\n", "[ s ]\nk = a\n", "[s\nk = a\n", "[[s]]\nk = a\n", "[s]]\nk = a\n",
    "[s]\nk = a\n[g]\nk = b\n", "[s]\nk = a\n[g]\n[s]\nk = b\n", "[s]\nk = a\nk = b\n", "[s]\nK = a\nk = b\n", "[S]\nk = a\n[s]\nk = b\n", "[DEFAULT]\n[default]\nk = a\n",
    "[s]\nk = ä\n", "[s]\nk = \u00a0a\u00a0\n", "[s]\nk = a\u0085b = c\n", "[s]\nk = a\u2028b = c\n", "[s]\nk = a\x0bb = c\n", "[s]\nk = a\x0cb = c\n", "[s]\nk = a\x1cb = c\n", "[s]\nk = \x1fa\x1f\n",
    "[s]\nk = a\x00b\n", "[s]\nk = %(x)s 100%\n", "[s]\nk = $x ${y} \\$z\n", "[s]\nk = [a]\n", "[s]\n[k] = a\n", "[s]\nk k = a\n", "[s]\n\"k\" = a\n", "", "\n", "[s]", "[s]\nk = a",
    "\ufeff[s]\nk = a\n", "[s]\nk = a\n\u00a0b\n", "[s]\n\u3000k = a\n",
]
values = [
    "a", "a$host", "a${host}b", "${g.x}", "$g.x", "$g.x.y", "$g.nope", "$nope.x", "a$$nope", "a\\$nope", "\\\\$host", "\\$$host", "$\\$host", "$$$host", "$$$$", "a$", "$", "a$1", "$ host", "${ host}",
    "${host", "${}", "$HOST", "${Host}", "$host$host", "$hostx", "${host}x", "$host.", "$host-x", "100%", "%(host)s", "$ä", "$hostä", "\\", "\\\\", "\\a", "$_", "${_}", "$.host", "$nope", "${nope}", "$g", "${g}",
]

rnd = random.Random(20260101)
inside = ["=", ":", " ", " ", "\t", "\r", "\"", "'", "#", ";", "[", "]", "a", "b c", "$x", "\\", "%", "\u00a0", "\u0085", "\x1d", "ß", ","]
lines = ["[s]", "[g]", "[s] ", "k =", "k = ", "x: ", "k=", " ", "\t", "#", "", "k", "  k = "]
weights = [3, 3, 1, 12, 12, 6, 6, 3, 2, 2, 3, 1, 2]
while len(files) < 500:
    text = "[s]\n"
    for _ in range(rnd.randrange(1, 5)):
        text += rnd.choices(lines, weights)[0] + "".join(rnd.choice(inside) for _ in range(rnd.randrange(0, 4))) + rnd.choice(["\n", "\n", "\n", "\r\n", "\r"])
    files.append(text)
letters = ["$", "$", "$", "\\", "{", "}", "host", "g.x", "g", "x", ".", "_", "1", "a", "-", " ", "%", "ä", "nope"]
while len(values) < 400:
    values.append("".join(rnd.choice(letters) for _ in range(rnd.randrange(1, 8))))

json.dump({
    "oslo.config": version("oslo.config"),
    "options": {"host": "the-host", "g.x": "the-x"},
    "files": [read_file(t) for t in dict.fromkeys(files)],
    "values": [read_value(v) for v in dict.fromkeys(values) if v == v.strip()],
}, sys.stdout, indent=1, ensure_ascii=True)
print()
END
mv "${work}/oslo.json" "${out}"
echo "wrote ${out}"
