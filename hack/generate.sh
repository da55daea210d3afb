#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs every generator: the scripts hack/generate-*.sh, in the order of their
# names, each in the root of the tree that this file stands in. That is the
# clone for 'make generate', and a copy of it for 'make verify-generate'.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
CONTROLLER_GEN=${CONTROLLER_GEN:-$(hack/tool.sh controller-gen)}
export CONTROLLER_GEN GOWORK=off

shopt -s nullglob
for generator in hack/generate-*.sh; do
  "${generator}"
done
