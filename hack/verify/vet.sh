#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# go vet passes on the operator and on the lab. The modules that only wrap
# somebody else's command (test/lab/kube, test/lab/kwok, hack/tools) are left
# out: vetting their few lines would compile all of Kubernetes.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for module in . test/lab; do
  [[ -f "${module}/go.mod" ]] || continue
  (cd "${module}" && go vet ./...) || fail "go vet fails in ${module}"
done
