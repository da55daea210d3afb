#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# No hand-written Go file, test or not, is longer than 500 lines: a file holds
# one concern.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

limit=500
# A variable, not a pipe into the loop: what cannot be read must not look short.
found=$(files '*.go' | xargs -0 -r -n 1000 wc -l | awk -v limit="${limit}" '$1 > limit && $2 != "total"')
long=()
while read -r lines file; do
  [[ -z "${file}" ]] || generated "${file}" || long+=("${lines} ${file}")
done <<<"${found}"

if ((${#long[@]} > 0)); then
  printf '  %s\n' "${long[@]}" >&2
  fail "these files are longer than ${limit} lines: split them by concern"
fi
