#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Every Go file is formatted as gofmt does.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

difference=$(files '*.go' | xargs -0 -r gofmt -d)
if [[ -n "${difference}" ]]; then
  printf '%s\n' "${difference}"
  fail "these files are not formatted; run: make fmt"
fi
