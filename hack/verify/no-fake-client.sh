#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# No Go file imports a fake API client: server-side apply, defaulting, CEL and
# conflicts are only true against a real API server, and the lab brings one.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

pattern='^[[:space:]]*(import[[:space:]]+)?([[:alnum:]_.]+[[:space:]]+)?"(sigs\.k8s\.io/(controller-runtime|multicluster-runtime)|k8s\.io/[a-z-]+)/([a-z0-9/_-]+/)?fake"[[:space:]]*(//.*)?$'
if files '*.go' | xargs -0 -r grep -nE -- "${pattern}"; then
  fail "a fake API client is imported; test against the lab or envtest instead"
fi
