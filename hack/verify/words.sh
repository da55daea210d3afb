#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Nothing in the repository matches a line of forbidden-words.txt.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

words=hack/verify/forbidden-words.txt
patterns=$(grep -vE '^(#|[[:space:]]*$)' "${words}")
if files ':!*.sum' ":!${words}" ':!LICENSE' | xargs -0 -r grep -nIE -f <(printf '%s\n' "${patterns}") --; then
  fail "the lines above break a house rule; ${words} says which and why"
fi
