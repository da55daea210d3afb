// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"maps"
	"slices"

	"c5c3.io/cinder-operator/internal/render/ini"
)

// addOptions writes extraOptions as they are, without the denied ones: these
// are left out even where the operator renders none of that name.
func addOptions(doc *ini.Document, section string, options map[string]string, denied []string) {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if slices.Contains(denied, key) {
			continue
		}
		doc.SetVerbatim(section, key, options[key])
	}
}
