// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheSupportedReleasesHaveACatalog(t *testing.T) {
	if diff := cmp.Diff([]string{"2026.1", "2026.2"}, Releases()); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
	if _, ok := For("2025.2"); ok {
		t.Error("a release without catalog has one")
	}
}

// The files are read a second time, without any of the types of this package, and every option of them is looked up.
func TestEveryOptionOfEveryCatalogIsFound(t *testing.T) {
	name := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	replacement := regexp.MustCompile(`^\[([^\[\]]+)\] ([A-Za-z0-9_]+)$`)
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			content, err := data.ReadFile("data/" + release + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var file struct {
				Release  string                               `json:"release"`
				Sections map[string]map[string]map[string]any `json:"sections"`
				Backend  []string                             `json:"backend_options"`
			}
			if err := json.Unmarshal(content, &file); err != nil {
				t.Fatal(err)
			}
			c, _ := For(release)
			if file.Release != release || c.Release() != release {
				t.Errorf("the file says release %q, the catalog %q", file.Release, c.Release())
			}
			if c.Version() == "" {
				t.Error("the version of Cinder is not said")
			}
			if len(c.Sections()) != len(file.Sections) {
				t.Errorf("%d sections, the file has %d", len(c.Sections()), len(file.Sections))
			}
			walked := 0
			for section, options := range file.Sections {
				if section != SectionName(section) {
					t.Errorf("section %q is not written as it is compared", section)
				}
				if len(c.Options(section)) != len(options) {
					t.Errorf("[%s] has %d options, in the file %d", section, len(c.Options(section)), len(options))
				}
				for option, about := range options {
					walked++
					if !name.MatchString(option) {
						t.Errorf("[%s] %q is no option name", section, option)
					}
					for _, spelling := range spellings(section) {
						got, ok := c.Option(spelling, option)
						if !ok {
							t.Fatalf("[%s] %s is not found", spelling, option)
						}
						deprecated, _ := about["deprecated"].(bool)
						instead, _ := about["replacement"].(string)
						if want := (Option{deprecated, instead}); got != want {
							t.Errorf("[%s] %s is %+v, want %+v", section, option, got, want)
						}
						if instead == "" {
							continue
						}
						if !deprecated {
							t.Errorf("[%s] %s has a replacement and is not deprecated", section, option)
						}
						if match := replacement.FindStringSubmatch(instead); match == nil {
							t.Errorf("[%s] %s: the replacement %q is no [section] option", section, option, instead)
						} else if _, ok := c.Option(match[1], match[2]); !ok {
							t.Errorf("[%s] %s: the replacement %s is no option", section, option, instead)
						}
					}
					if _, ok := c.Option(section, option+"_"); ok {
						t.Errorf("[%s] %s_ is found", section, option)
					}
				}
			}
			if walked < 2000 {
				t.Errorf("only %d options: the catalog is cut", walked)
			}
			for _, option := range file.Backend {
				if !c.BackendOption(option) {
					t.Errorf("backend option %s is not found", option)
				}
			}
			if c.BackendOption("transport_url") {
				t.Error("transport_url is no backend option")
			}
		})
	}
}

// spellings are the ways in which a section may be written.
func spellings(section string) []string {
	if section == DefaultSection {
		return []string{section}
	}
	return []string{section, strings.ToUpper(section)}
}

func TestNamesCompareAsOsloConfigComparesThem(t *testing.T) {
	c, _ := For("2026.1")
	for _, tc := range []struct {
		section, option string
		found           bool
	}{
		{"DEFAULT", "debug", true},
		{"default", "debug", false},
		{"Default", "debug", false},
		{"DEFAULT", "Debug", false},
		{"database", "max_pool_size", true},
		{"DataBase", "max_pool_size", true},
		{"database", "MAX_POOL_SIZE", false},
		{"nowhere", "debug", false},
	} {
		if _, ok := c.Option(tc.section, tc.option); ok != tc.found {
			t.Errorf("[%s] %s: found is %t, want %t", tc.section, tc.option, ok, tc.found)
		}
	}
	if !c.HasSection("OSLO_MESSAGING_RABBIT") || c.HasSection("default") {
		t.Error("section names do not compare lower-cased but for DEFAULT")
	}
	if !IsSection("nova") || !IsSection("DEFAULT") || IsSection("nfs-a") {
		t.Error("IsSection does not tell the catalogs' sections from others")
	}
}

func TestDeprecatedOptionsNameTheirReplacement(t *testing.T) {
	c, _ := For("2026.1")
	got, ok := c.Option("DEFAULT", "backup_driver_status_check_interval")
	if want := (Option{true, "[DEFAULT] backup_driver_stats_polling_interval"}); !ok || got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestABrokenCatalogIsRefused(t *testing.T) {
	for name, content := range map[string]string{
		"no JSON":                            "{",
		"a field that nobody knows":          `{"release":"1","other":1}`,
		"one section in two spellings":       `{"release":"1","sections":{"a":{},"A":{}}}`,
		"an option with something we ignore": `{"release":"1","sections":{"a":{"b":{"removed":true}}}}`,
	} {
		if _, err := read([]byte(content)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if c, err := read([]byte(`{"release":"1","sections":{"B":{"b":{}},"DEFAULT":{}}}`)); err != nil || !slices.Equal(c.Sections(), []string{"DEFAULT", "b"}) {
		t.Errorf("sections %v, error %v", c.Sections(), err)
	}
}
