// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package jobend decides how Jobs end on clusters with fake nodes, without a word in the Jobs' own templates: an
// admission policy of the cluster writes the decision into annotations of the Jobs' pods, which the stages of the
// fake nodes read.
//
// Each decision is a ConfigMap, a parameter of the one policy. Pods are matched, never Jobs, so that what an operator
// reads back of its Jobs is what it wrote.
package jobend
