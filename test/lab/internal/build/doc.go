// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package build makes the binaries that a lab runs: the Kubernetes components with etcd and kubectl as one
// multi-call binary, and kwok. Each is built once per version and kept outside the clone, so that a fresh clone,
// a second clone and a CI run on the same machine share them.
package build
