// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package api holds the suite that proves the generated CustomResourceDefinitions against a real API server, with no
// webhook in front of it: that every rule rejects what it is for with its own message, that what is just inside each
// rule passes, that defaults land and columns print.
//
// The manifests are in ../invalid-* and ../valid-*, file by file: each rejected manifest has a counterpart of the same
// name that passes. "# expect: FIELD: MESSAGE" comments at the head of a rejected manifest name every cause of the
// rejection. NAME.update.yaml is sent as an update of NAME.yaml, NAME.status.yaml as an update of its status.
package api
