// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"maps"
	"slices"

	"c5c3.io/cinder-operator/api/catalog"
	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/ini"
)

// notHonoured marks an option of extraConfig that was left out.
const notHonoured = " (not honoured)"

// overlay lays extraConfig over the document and returns, sorted, the options
// that the document already had and those that were left out: admission
// refuses these, and Cinder itself would say nothing of an object that came
// past it. Sections that differ in case alone are one to the reader, so they
// become one here; among such the last in order wins.
func overlay(doc *ini.Document, extra map[string]map[string]string) []string {
	owned := map[string]bool{}
	for _, section := range doc.Sections() {
		for _, key := range doc.Keys(section) {
			owned[section+"\x00"+key] = true
		}
	}
	var overridden []string
	for _, raw := range slices.Sorted(maps.Keys(extra)) {
		section := catalog.SectionName(raw)
		for _, key := range slices.Sorted(maps.Keys(extra[raw])) {
			if v1alpha1.RejectsExtraConfig(section, key) {
				overridden = append(overridden, "["+section+"] "+key+notHonoured)
				continue
			}
			if owned[section+"\x00"+key] {
				overridden = append(overridden, "["+section+"] "+key)
			}
			doc.SetVerbatim(section, key, extra[raw][key])
		}
	}
	slices.Sort(overridden)
	return slices.Compact(overridden)
}
