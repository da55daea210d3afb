#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Every shell script parses, and those that are called are executable.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r -d '' file; do
  bash -n -- "${file}" || fail "${file} does not parse"
  if [[ "$(head -c 2 -- "${file}")" == '#!' && ! -x "${file}" ]]; then
    fail "${file} is not executable"
  fi
done < <(files '*.sh' '.ci/run')
