// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog knows every option of cinder.conf, for each OpenStack release that a catalog is embedded of.
//
// Cinder reads over an option that it does not know without a word, so looking a name up here is the only way in which a
// user hears of a typing error. A catalog is made from a release's own source tree; hack/catalog.sh shows how.
package catalog
