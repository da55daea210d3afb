#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Every hand-written source file opens with the two SPDX lines: Go in line
# comments, everything else behind '#', scripts below their first line. Golden
# files and generated files carry what their writer gives them.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# One awk reads them all: a process for each of some thousand files takes longer
# than everything else that verify does. The ./ keeps it from taking a name that
# holds a '=' for a variable.
without() {
  grep -zv '/testdata/' | sed -z 's|^|./|' | xargs -0 -r awk '
    FNR == 1 { mark = FILENAME ~ /\.go$/ ? "//" : "#"; n = 0; if (/^#!/) next }
    { sub(/\r$/, ""); line[++n] = $0 }
    n == 2 {
      if (line[1] == mark " SPDX-FileCopyrightText: The cinder-operator Authors" &&
          line[2] == mark " SPDX-License-Identifier: Apache-2.0") with[FILENAME]
      nextfile
    }
    END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in with)) print substr(ARGV[i], 3) }'
}

# A variable, not a pipe into the loop: what cannot be read must not look clean.
found=$(files '*.go' '*.sh' '*.yaml' '*.yml' 'Makefile' '*.mk' '.ci/*' | without)
missing=()
while IFS= read -r file; do
  [[ -z "${file}" ]] || generated "${file}" || missing+=("${file}")
done <<<"${found}"

if ((${#missing[@]} > 0)); then
  printf '  %s\n' "${missing[@]}" >&2
  fail "${#missing[@]} files do not start with the two SPDX lines (see hack/boilerplate.go.txt)"
fi
