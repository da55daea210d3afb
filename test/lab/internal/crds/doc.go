// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package crds installs the CustomResourceDefinitions of the operator's collaborators, as their projects publish them
// in their Go modules.
package crds
