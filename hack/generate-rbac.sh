#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0

# Generates config/rbac/role.yaml, what the operator's account may do on the hub, from the markers beside the code that
# does it. What the operator does with children stands in config/target-access, for the hub as for every target.
#
#   CONTROLLER_GEN  path of the controller-gen binary (required)
#   OUTPUT_ROOT     directory the file is written below, at its usual path (default: this repository)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${CONTROLLER_GEN:?set CONTROLLER_GEN to the path of controller-gen}"
out=${OUTPUT_ROOT:-$root}

mkdir -p "$out/config/rbac"
cd "$root"
"$CONTROLLER_GEN" rbac:roleName=cinder-operator paths='./clusters/...;./controllers/...;./cmd/...' \
  output:rbac:dir="$out/config/rbac"

role="$out/config/rbac/role.yaml"
{ sed 's|^//|#|' hack/boilerplate.go.txt; cat "$role"; } > "$role.tmp"
mv "$role.tmp" "$role"
