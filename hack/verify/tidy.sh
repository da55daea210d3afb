#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# go.mod and go.sum of every module are what go mod tidy makes of them.
# -mod=mod in GOFLAGS is dropped by lib.sh: with it tidy -diff answers for
# files that an earlier command may just have rewritten.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

untidy=()
for module in $(modules); do
  (cd "${module}" && go mod tidy -diff) || untidy+=("${module}")
done
if ((${#untidy[@]} > 0)); then
  fail "run 'go mod tidy' in: ${untidy[*]}"
fi
