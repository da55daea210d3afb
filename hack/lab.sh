# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by demo.sh and run.sh: a lab whose hub is ready for the operator and
# whose targets are registered.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LAB=${LAB:-${ROOT}/_output/bin/lab}
LAB_DIR=${LAB_DIR:-${ROOT}/_output/lab}
OPERATOR=${OPERATOR:-${ROOT}/_output/bin/cinder-operator}
CLUSTERS_NAMESPACE=${CLUSTERS_NAMESPACE:-c5c3-clusters}
OPERATOR_NAMESPACE=${OPERATOR_NAMESPACE:-c5c3-system}
OPERATOR_ACCOUNT=${OPERATOR_ACCOUNT:-cinder-operator}
HUB_KUBECONFIG="${LAB_DIR}/operator-hub.kubeconfig"

# step says what begins, and how long after the start.
step() { printf '\n[%3ds] %s\n' "${SECONDS}" "$*"; }

die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# on CLUSTER ARGS...: kubectl with the cluster's administrator.
on() {
  local cluster=$1
  shift
  "${LAB}" kubectl "${cluster}" --dir "${LAB_DIR}" -- "$@"
}

# eventually SECONDS COMMAND...: repeats the command until it succeeds; shows
# what it said last where it never does.
eventually() {
  local end=$((SECONDS + $1)) said
  shift
  until said=$("$@" 2>&1); do
    if ((SECONDS >= end)); then
      echo "${said}" >&2
      return 1
    fi
    sleep 0.3
  done
}

# present FILE WHAT: fails with a sentence instead of kubectl's when a part of
# the tree is not there.
present() {
  [[ -e "${ROOT}/$1" ]] || die "$1 is missing: without it there is no $2"
}

# apply CLUSTER FOLDER-OR-FILE: server-side, as the schema of a Cinder is larger
# than the annotation that a client-side apply keeps a copy in.
apply() {
  on "$1" apply --server-side --force-conflicts -f "${ROOT}/$2" >/dev/null
}

# prepare_hub: kinds, namespaces, and the operator's account with the rules of
# config/rbac; its connection is written to HUB_KUBECONFIG. The operator never
# runs as the lab's administrator.
prepare_hub() {
  present config/crd "kind to apply"
  present config/rbac "account for the operator on the hub"
  apply hub config/crd
  # Asked for a condition in the moment before there is any, kubectl fails
  # instead of waiting.
  eventually 60 on hub wait --for=condition=Established --timeout=10s crd \
    cinders.cinder.openstack.c5c3.io cinderbackends.cinder.openstack.c5c3.io \
    cinderbackupbackends.cinder.openstack.c5c3.io targetclusters.cinder.openstack.c5c3.io
  local namespace
  for namespace in "${OPERATOR_NAMESPACE}" "${CLUSTERS_NAMESPACE}" openstack; do
    on hub create namespace "${namespace}" --dry-run=client -o yaml | on hub apply --server-side -f - >/dev/null
  done
  # A Cinder without a target has its children on the hub: the same roles as on
  # a target, bound by config/rbac.
  apply hub config/rbac
  apply hub config/target-access/20-roles.yaml
  "${LAB}" account hub --dir "${LAB_DIR}" --namespace "${OPERATOR_NAMESPACE}" \
    --service-account "${OPERATOR_ACCOUNT}" --out "${HUB_KUBECONFIG}"
}

# register TARGET: what an administrator of the target does (the account and
# its rules), and what one of the hub does with the kubeconfig it yields.
register() {
  local target=$1 kubeconfig="${LAB_DIR}/operator-$1.kubeconfig"
  present config/target-access "account for the operator on a target"
  apply "${target}" config/samples/demo/prerequisites.yaml
  apply "${target}" config/target-access
  "${LAB}" account "${target}" --dir "${LAB_DIR}" --namespace "${OPERATOR_NAMESPACE}" \
    --service-account "${OPERATOR_ACCOUNT}" --out "${kubeconfig}"
  on hub create secret generic "${target}" --namespace "${CLUSTERS_NAMESPACE}" \
    --from-file=kubeconfig="${kubeconfig}" --dry-run=client -o yaml |
    on hub label --local -f - sigs.k8s.io/multicluster-runtime-kubeconfig=true -o yaml |
    on hub apply --server-side -f - >/dev/null
}

# targets: the names of the lab's target clusters.
targets() {
  local file
  for file in "${LAB_DIR}"/edge-*.kubeconfig; do
    if [[ -f "${file}" ]]; then basename "${file}" .kubeconfig; fi
  done
}
