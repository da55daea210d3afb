#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Every Go file is formatted as gofmt does.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Newer versions of gofmt end with 1 when -d finds a difference, older ones do not.
if ! difference=$(files '*.go' | xargs -0 -r gofmt -d) || [[ -n "${difference}" ]]; then
  printf '%s\n' "${difference}"
  fail "these files are not formatted; run: make fmt"
fi
