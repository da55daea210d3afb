#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# A hub and two target clusters from nothing; a Cinder for each target, applied
# on the hub; the proof that each became Ready and that its children stand on
# its target and nowhere else. Exits non-zero where the proof fails.
#
#   DEMO_ONCE=1      take everything down after the proof instead of waiting
#   DEMO_TIMEOUT=S   seconds one Cinder may take to become Ready (default 240)
#   LAB_DIR=DIR      where the lab lives (default _output/lab)

source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

TARGETS=(edge-1 edge-2)
TIMEOUT=${DEMO_TIMEOUT:-240}
LOG="${ROOT}/_output/demo-operator.log"
operator=

finish() {
  local status=$?
  trap - EXIT INT TERM
  if [[ -n "${operator}" ]]; then
    kill -TERM "${operator}" 2>/dev/null || true
    wait "${operator}" 2>/dev/null || true
  fi
  step "taking the lab down"
  "${LAB}" down --dir "${LAB_DIR}" || status=1
  rm -f "${LAB_DIR}"/operator-*.kubeconfig
  exit "${status}"
}

# wait_ready NAMESPACE OBJECT SECONDS: waits for the object to exist and to be
# Ready; shows its conditions and the operator's last words if it is not.
wait_ready() {
  local namespace=$1 object=$2 seconds=$3
  if eventually "${seconds}" on hub wait --namespace "${namespace}" --for=condition=Ready --timeout=10s "${object}"; then
    echo "  ${object} is Ready"
    return
  fi
  conditions "${namespace}" "${object}" || true
  echo "--- the operator's last lines (${LOG})"
  tail -n 30 "${LOG}" || true
  die "${object} did not become Ready within ${seconds} s"
}

# conditions NAMESPACE OBJECT: one line each of type, status, reason, message.
conditions() {
  on hub get --namespace "$1" "$2" -o go-template='{{range .status.conditions}}{{printf "  %-21s %-6s %-26s %s\n" .type .status .reason .message}}{{end}}'
}

# children CLUSTER CINDER: the objects that carry the Cinder's ownership labels.
children() {
  on "$1" get deployments,services,configmaps,secrets,jobs,cronjobs,poddisruptionbudgets \
    --namespace openstack --ignore-not-found --no-headers -o name \
    -l "openstack.c5c3.io/owner-kind=Cinder,openstack.c5c3.io/owner-name=$2,openstack.c5c3.io/owner-namespace=openstack"
}

present cmd/cinder-operator "operator to build"
step "building the operator and the lab"
go build -o "${OPERATOR}" "${ROOT}/cmd/cinder-operator"
"${LAB}" build

# Somebody else's lab is neither used nor, at the end, taken down.
if "${LAB}" status --dir "${LAB_DIR}" >/dev/null 2>&1; then
  die "a lab runs in ${LAB_DIR}: end it with 'make lab-down', or set LAB_DIR to another folder"
fi

step "bringing up a hub and ${#TARGETS[@]} targets in ${LAB_DIR}"
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"${LAB}" up --dir "${LAB_DIR}" --targets "${#TARGETS[@]}" --nodes fake --owner-pid $$

step "hub: kinds and the operator's account; targets: account, namespace, credentials; registering them"
prepare_hub
for target in "${TARGETS[@]}"; do
  register "${target}"
done

step "starting the operator (log: ${LOG})"
# Like the lab, it ends with this script, also where that is killed.
setpriv --pdeathsig TERM "${OPERATOR}" --kubeconfig "${HUB_KUBECONFIG}" --clusters-namespace "${CLUSTERS_NAMESPACE}" \
  --allow-local-targets --metrics-bind-address 0 --health-probe-bind-address 0 >"${LOG}" 2>&1 &
operator=$!
for target in "${TARGETS[@]}"; do
  wait_ready "${CLUSTERS_NAMESPACE}" "targetcluster/${target}" 60
done

step "applying a Cinder, a backend and a backup target for each"
for target in "${TARGETS[@]}"; do
  apply hub "config/samples/demo/${target}.yaml"
done
for target in "${TARGETS[@]}"; do
  wait_ready openstack "cinder/cinder-${target}" "${TIMEOUT}"
  wait_ready openstack "cinderbackend/volumes-${target}" 60
  wait_ready openstack "cinderbackupbackend/backups-${target}" 60
done

for target in "${TARGETS[@]}"; do
  eventually 60 on hub wait --namespace "${CLUSTERS_NAMESPACE}" --for=jsonpath='{.status.cinders}'=1 --timeout=10s \
    "targetcluster/${target}" || die "the registry does not count the Cinder of ${target}"
done

step "the proof"
failures=()

echo "kube-system UIDs (each cluster is one of its own):"
uids=$(for cluster in hub "${TARGETS[@]}"; do
  printf '  %-8s %s\n' "${cluster}" "$(on "${cluster}" get namespace kube-system -o jsonpath='{.metadata.uid}')"
done)
echo "${uids}"
if [[ $(awk '{ print $2 }' <<<"${uids}" | sort -u | wc -l) -ne $((${#TARGETS[@]} + 1)) ]]; then
  failures+=("the clusters are not distinct")
fi

for command in "targetclusters -A" "cinders -n openstack" "cinderbackends,cinderbackupbackends -n openstack"; do
  printf '\n$ kubectl get %s\n' "${command}"
  # shellcheck disable=SC2086 # the words of one kubectl command
  on hub get ${command}
done

for target in "${TARGETS[@]}"; do
  cinder="cinder-${target}"
  printf '\nconditions of %s on the hub:\n' "${cinder}"
  listed=$(conditions openstack "cinder/${cinder}")
  echo "${listed}"
  # Ready, the fourteen it is made of, and ExtraConfigHealthy.
  if [[ $(awk '$2 == "True"' <<<"${listed}" | wc -l) -ne 16 || $(wc -l <<<"${listed}") -ne 16 ]]; then
    failures+=("not every one of the 16 conditions of ${cinder} is True")
  fi

  for cluster in hub "${TARGETS[@]}"; do
    found=$(children "${cluster}" "${cinder}")
    if [[ "${cluster}" == "${target}" ]]; then
      printf '\nchildren of %s on %s:\n' "${cinder}" "${cluster}"
      sed 's/^/  /' <<<"${found}"
      for child in "deployment.apps/${cinder}" "deployment.apps/${cinder}-scheduler" \
        "deployment.apps/${cinder}-volume-volumes-${target}" "deployment.apps/${cinder}-backup" \
        "service/${cinder}" "cronjob.batch/${cinder}-db-purge"; do
        grep -qx "${child}" <<<"${found}" || failures+=("${child} is not on ${cluster}")
      done
    else
      printf 'children of %s on %s: %s\n' "${cinder}" "${cluster}" "${found:-none}"
      [[ -z "${found}" ]] || failures+=("children of ${cinder} are on ${cluster}")
    fi
  done
done

if ((${#failures[@]} > 0)); then
  printf '\nFAILED: %s' "${failures[@]}" >&2
  echo >&2
  exit 1
fi
step "every condition is True, every child is where it belongs"

if [[ -n "${DEMO_ONCE:-}" ]]; then
  exit 0
fi
trap 'exit 0' INT TERM
cat <<END

The lab stays up until you press Ctrl-C. In another terminal:
  ${LAB} kubectl hub --dir ${LAB_DIR} -- get cinders -A
  ${LAB} kubectl edge-1 --dir ${LAB_DIR} -- get deployments -A
END
# The operator ending by itself ends the demonstration, as a failure.
wait "${operator}" || true
operator=
die "the operator ended; see ${LOG}"
