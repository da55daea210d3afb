#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# No hand-written Go file, test or not, is longer than 500 lines: a file holds
# one concern.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

limit=500
long=()
while IFS= read -r -d '' file; do
  lines=$(wc -l <"${file}")
  if ((lines > limit)) && ! generated "${file}"; then
    long+=("${lines} ${file}")
  fi
done < <(files '*.go')

if ((${#long[@]} > 0)); then
  printf '  %s\n' "${long[@]}" >&2
  fail "these files are longer than ${limit} lines: split them by concern"
fi
