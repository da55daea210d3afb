// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"maps"
	"slices"
	"strings"

	"c5c3.io/cinder-operator/internal/render/ini"
)

// rejected are the options of extraConfig that admission refuses: a credential
// in a ConfigMap, or a value without which no process starts. They are left
// out here as well, for an object that came past admission, and reported as
// not honoured: Cinder itself would say nothing.
var rejected = map[string][]string{
	ini.DefaultSection:   {"auth_strategy", "api_paste_config", "transport_url"},
	"database":           {"connection"},
	"keystone_authtoken": {"password"},
	"service_user":       {"password"},
	"nova":               {"password"},
	"cinder_sys_admin":   {"helper_command", "capabilities"},
	"privsep_osbrick":    {"helper_command", "capabilities"},
}

// sectionName is the name under which oslo.config files a section.
func sectionName(name string) string {
	if name == ini.DefaultSection {
		return name
	}
	return strings.ToLower(name)
}

// notHonoured marks an option of extraConfig that was left out.
const notHonoured = " (not honoured)"

// overlay lays extraConfig over the document and returns, sorted, the options
// that the document already had and those that were left out. Sections that differ in case alone are one to
// the reader, so they become one here; among such the last in order wins.
func overlay(doc *ini.Document, extra map[string]map[string]string) []string {
	owned := map[string]bool{}
	for _, section := range doc.Sections() {
		for _, key := range doc.Keys(section) {
			owned[section+"\x00"+key] = true
		}
	}
	var overridden []string
	for _, raw := range slices.Sorted(maps.Keys(extra)) {
		section := sectionName(raw)
		for _, key := range slices.Sorted(maps.Keys(extra[raw])) {
			if slices.Contains(rejected[section], key) {
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
