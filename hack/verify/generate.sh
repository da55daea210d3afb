#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# The generated files are what the generators write today. They run in a copy,
# so that a failing check changes nothing in the tree.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

copy=$(mktemp -d "${TMPDIR:-/tmp}/cinder-operator-generate.XXXXXX")
trap 'rm -rf "${copy}"' EXIT
mkdir "${copy}/before" "${copy}/after"

files | tar --null --files-from=- -cf - | tee >(tar -xf - -C "${copy}/before") | tar -xf - -C "${copy}/after"
wait

"${copy}/after/hack/generate.sh" || fail "the generators fail"

if ! (cd "${copy}" && diff -ruN --exclude=_output before after); then
  fail "generated files are out of date; run: make generate"
fi
