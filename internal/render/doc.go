// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package render holds what the renderers share: the names of children, their
// labels and annotations, the paths inside a pod, and Facts, what a renderer
// has to know beyond the custom resource.
//
// The renderers below it are pure functions from a resource and its facts to
// bytes and objects. They know no clients and no clusters, they never iterate
// over a map without sorting it, and two calls with the same input give the
// same bytes. Ownership labels are not theirs: projection adds them.
package render
