#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0

# Generates what follows from the types of api/: the deep copies beside them, and the CustomResourceDefinitions.
#
#   CONTROLLER_GEN  path of the controller-gen binary (required)
#   OUTPUT_ROOT     directory the files are written below, at their usual paths (default: this repository); a
#                   comparison of the committed files with fresh ones generates into an empty directory
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${CONTROLLER_GEN:?set CONTROLLER_GEN to the path of controller-gen}"
out=${OUTPUT_ROOT:-$root}

mkdir -p "$out/api/v1alpha1" "$out/config/crd"
cd "$root"
"$CONTROLLER_GEN" object:headerFile=hack/boilerplate.go.txt paths=./api/v1alpha1 \
  output:object:dir="$out/api/v1alpha1"
# A client-side kubectl apply keeps a copy of the manifest in an annotation of at most 256 KiB. The documentation of
# Kubernetes' own types, of which the scheduling blocks of each service are full, is cut to its first sentences to fit;
# no comment of our own is as long.
"$CONTROLLER_GEN" crd:maxDescLen=375 paths=./api/v1alpha1 output:crd:dir="$out/config/crd"

# controller-gen heads Go files with a licence, and manifests with none.
for manifest in "$out"/config/crd/*.yaml; do
  { sed 's|^//|#|' hack/boilerplate.go.txt; cat "$manifest"; } > "$manifest.tmp"
  mv "$manifest.tmp" "$manifest"
done
