# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by the checks of this folder.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "${ROOT}"

# A caller's GOFLAGS (-mod=mod above all) would let a check repair what it is
# there to find; a caller's workspace would resolve other versions.
export GOFLAGS="-buildvcs=false -trimpath" GOWORK=off

# Without git's list of files there is nothing to find fault with, and every
# check would pass.
if ! git rev-parse --is-inside-work-tree >/dev/null; then
  echo "$(basename "$0" .sh): ${ROOT} is no git work tree" >&2
  exit 1
fi

# files PATTERN...: the files of the tree that match, NUL-separated: those git
# tracks and those it would add, without those that are deleted and not yet
# committed.
files() {
  git ls-files -z --cached --others --exclude-standard -- "$@" | while IFS= read -r -d '' file; do
    if [[ -f "${file}" ]]; then printf '%s\0' "${file}"; fi
  done
}

# generated FILE: whether a generator wrote it.
generated() {
  head -n 12 -- "$1" | grep -qE '^// Code generated .* DO NOT EDIT\.$|controller-gen\.kubebuilder\.io/version|^# Code generated .* DO NOT EDIT\.$'
}

# modules: the folders of this repository's Go modules, the root first.
modules() {
  git ls-files --cached --others --exclude-standard -- 'go.mod' '**/go.mod' | sort -u | while IFS= read -r file; do
    dirname -- "${file}"
  done
}

fail() {
  echo "$(basename "$0" .sh): $*" >&2
  exit 1
}
