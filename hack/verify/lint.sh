#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# golangci-lint passes on the operator and on the lab. One configuration serves
# both modules. Arguments are handed on: lint.sh --fix.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

linter=$(hack/tool.sh golangci-lint)
failed=()
for module in . test/lab; do
  [[ -f "${module}/go.mod" ]] || continue
  (cd "${module}" && "${linter}" run --config "${ROOT}/.golangci.yml" "$@" ./...) || failed+=("${module}")
done
if ((${#failed[@]} > 0)); then
  fail "golangci-lint fails in: ${failed[*]}"
fi
