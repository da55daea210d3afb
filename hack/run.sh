#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [FLAGS]: builds the operator and runs it in the foreground, outside
# any cluster, against the lab that 'make lab-up' brought up, with every target
# of the lab registered. The flags are handed to the operator.

source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

[[ -f "${LAB_DIR}/hub.kubeconfig" ]] || die "no lab in ${LAB_DIR}: run 'make lab-up' first"

go build -o "${OPERATOR}" "${ROOT}/cmd/cinder-operator"
prepare_hub
for target in $(targets); do
  register "${target}"
done

exec "${OPERATOR}" --kubeconfig "${HUB_KUBECONFIG}" --clusters-namespace "${CLUSTERS_NAMESPACE}" \
  --allow-local-targets --metrics-bind-address 127.0.0.1:8080 --health-probe-bind-address 127.0.0.1:8081 "$@"
