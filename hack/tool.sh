#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# tool.sh NAME: prints the path of a development tool, building it first where
# this version of it was never built on this machine.
#
# Each tool is a module of its own below hack/tools, so that its requirements
# never meet the operator's, and go.sum pins its source to the byte. The
# result lives outside the clone and is shared by all clones of a user:
#   ${XDG_CACHE_HOME:-$HOME/.cache}/cinder-operator/tools/<version>/<name>

set -euo pipefail

name=${1:?usage: tool.sh NAME}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
module="${root}/hack/tools/${name}"

case "${name}" in
  chainsaw) package=github.com/kyverno/chainsaw requirement=github.com/kyverno/chainsaw ;;
  controller-gen) package=sigs.k8s.io/controller-tools/cmd/controller-gen requirement=sigs.k8s.io/controller-tools ;;
  golangci-lint) package=. requirement=github.com/golangci/golangci-lint/v2 ;;
  *)
    echo "tool.sh: unknown tool ${name}; known: chainsaw controller-gen golangci-lint" >&2
    exit 2
    ;;
esac

# The key holds the digest of the whole module, as a plugin's version or our
# own main may change under one version of the tool, and the toolchain, as a
# linter refuses code of a Go newer than the one it was built with.
version=$(awk -v m="${requirement}" '$1 == "require" { sub(/^require /, "") } $1 == m { print $2; exit }' "${module}/go.mod")
digest=$({ go env GOVERSION GOOS GOARCH; cat "${module}"/go.mod "${module}"/go.sum "${module}"/*.go 2>/dev/null || true; } | sha256sum | cut -c1-12)
folder="${XDG_CACHE_HOME:-${HOME}/.cache}/cinder-operator/tools/${name}-${version}-${digest}"
binary="${folder}/${name}"

if [[ ! -x "${binary}" ]]; then
  mkdir -p "${folder}"
  # Two makes at once build once: the second waits for the lock and then finds
  # the binary. The rename keeps a half-written file from ever being run.
  exec 9>"${folder}/.lock"
  flock 9
  if [[ ! -x "${binary}" ]]; then
    echo "building ${name} ${version} (once per version)" >&2
    temporary="${binary}.$$"
    trap 'rm -f "${temporary}"' EXIT
    # GOFLAGS and GOWORK of the caller would change what is built.
    (cd "${module}" && GOFLAGS= GOWORK=off CGO_ENABLED=0 nice -n "${TOOL_NICE:-5}" \
      go build -mod=readonly -buildvcs=false -trimpath ${TOOL_BUILD_ARGS:-} -ldflags '-s -w' -o "${temporary}" "${package}") >&2
    mv "${temporary}" "${binary}"
  fi
  flock -u 9
fi

echo "${binary}"
