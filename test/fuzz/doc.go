// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package fuzz holds the fuzz targets that go across packages: what admission accepts is rendered, and must add no option,
// no section and no file to what the operator renders anyway. The targets of one package stand beside its code.
package fuzz
