#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0

# Generates config/webhook/manifests.yaml, what the API server asks the operator about, from the markers of
# api/admission/webhooks, and beside it config/webhook/cert-manager/manifests.yaml: the same, with the annotation that makes
# cert-manager write the authority.
#
#   CONTROLLER_GEN  path of the controller-gen binary (required)
#   OUTPUT_ROOT     directory the file is written below, at its usual path (default: this repository)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${CONTROLLER_GEN:?set CONTROLLER_GEN to the path of controller-gen}"
out=${OUTPUT_ROOT:-$root}

mkdir -p "$out/config/webhook"
cd "$root"
"$CONTROLLER_GEN" webhook paths=./api/admission/webhooks output:webhook:dir="$out/config/webhook"

manifests="$out/config/webhook/manifests.yaml"
{ sed 's|^//|#|' hack/boilerplate.go.txt; cat "$manifests"; } > "$manifests.tmp"
mv "$manifests.tmp" "$manifests"

mkdir -p "$out/config/webhook/cert-manager"
awk '{ print } $0 == "metadata:" { print "  annotations:"; print "    cert-manager.io/inject-ca-from: c5c3-system/cinder-operator-webhook" }' \
  "$manifests" > "$out/config/webhook/cert-manager/manifests.yaml"
