#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# suite.sh COMMAND...: runs tests. The end-to-end suites among them leave their
# labs to the next ones in a folder that this script makes; the labs that are in it
# at the end are taken down. The first suite that finds none free brings one up.
#
#   CINDER_E2E_LAB  the lab's command line

set -euo pipefail

pool=$(mktemp -d "${TMPDIR:-/tmp}/e2e-labs-XXXXXX")
# The labs end with this process, however it ends.
echo $$ >"${pool}/owner"
export CINDER_E2E_LABS=${pool}

end() {
  local lab
  for lab in "${pool}"/*/; do
    [[ -d ${lab} ]] || continue
    "${CINDER_E2E_LAB}" down --dir "${lab}" || true
  done
  rm -rf "${pool}"
}
trap end EXIT

# In a process group of its own: an interrupt reaches everything that was started,
# and is not waited for until the tests have run.
set -m
"$@" &
tests=$!
trap 'trap - INT TERM; kill -INT -- "-${tests}" 2>/dev/null || true; wait "${tests}" || true; exit 130' INT TERM
wait "${tests}"
