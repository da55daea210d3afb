// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package rendertest holds what the tests of the renderers share: golden files,
// sample resources, and a reader of INI files that follows oslo.config's rules.
//
// Golden files stand in each package's testdata. `UPDATE_GOLDEN=1 go test
// ./internal/render/...` writes them anew; read the difference before it is
// committed.
package rendertest
