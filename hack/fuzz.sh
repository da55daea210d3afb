#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh [PATTERN]: runs every fuzz target of the module whose name contains PATTERN, one after the other. What a target
# finds is written to testdata/fuzz beside it: commit that with the fix, and every later 'go test' tries it first.
#
#   FUZZTIME  how long each target runs (default 60s)

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

pattern=${1:-}
failed=()
while IFS=: read -r file target; do
  [[ "${target}" == *"${pattern}"* ]] || continue
  package=./$(dirname "${file}")
  echo "== ${package} ${target}" >&2
  go test -run '^$' -fuzz "^${target}\$" -fuzztime "${FUZZTIME:-60s}" "${package}" || failed+=("${package} ${target}")
done < <(git ls-files --cached --others --exclude-standard -- '*_test.go' ':!test/lab' |
  xargs grep -oE '^func Fuzz[A-Za-z0-9_]*' -- | sed 's/:func /:/' | sort)

if ((${#failed[@]} > 0)); then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
