// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package network renders what stands between the pods of a Cinder and the
// rest: the NetworkPolicy and the HTTPRoute.
package network
