#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Every hand-written source file opens with the two SPDX lines: Go in line
# comments, everything else behind '#', scripts below their first line. Golden
# files and generated files carry what their writer gives them.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

missing=()
while IFS= read -r -d '' file; do
  case "${file}" in
    */testdata/*) continue ;;
    *.go) mark='//' ;;
    *) mark='#' ;;
  esac
  if head -n 3 -- "${file}" | tr -d '\r' | awk -v mark="${mark}" '
      NR == 1 && /^#!/ { next }
      { line[++n] = $0 }
      END {
        exit !(line[1] == mark " SPDX-FileCopyrightText: The cinder-operator Authors" &&
               line[2] == mark " SPDX-License-Identifier: Apache-2.0")
      }'; then
    continue
  fi
  generated "${file}" || missing+=("${file}")
done < <(files '*.go' '*.sh' '*.yaml' '*.yml' 'Makefile' '*.mk' '.ci/*')

if ((${#missing[@]} > 0)); then
  printf '  %s\n' "${missing[@]}" >&2
  fail "${#missing[@]} files do not start with the two SPDX lines (see hack/boilerplate.go.txt)"
fi
