// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
)

// DefaultSection is the one section whose name is compared case-sensitively.
const DefaultSection = "DEFAULT"

// Option is what is known of an option beside its name.
type Option struct {
	// Deprecated says that a later release will no longer read the option.
	Deprecated bool `json:"deprecated,omitempty"`
	// Replacement is the option that is read instead, as "[section] option". It is empty when there is none.
	Replacement string `json:"replacement,omitempty"`
}

// Catalog is the list of options of one OpenStack release. It is immutable.
type Catalog struct {
	release  string
	version  string
	sections map[string]map[string]Option
	backend  map[string]bool
}

// Release returns the OpenStack release, such as 2026.1.
func (c *Catalog) Release() string { return c.release }

// Version returns the version of Cinder that the catalog was made from.
func (c *Catalog) Version() string { return c.version }

// HasSection tells whether the release reads a section of this name.
func (c *Catalog) HasSection(section string) bool {
	_, ok := c.sections[SectionName(section)]
	return ok
}

// Option looks an option up. Option names are case-sensitive.
func (c *Catalog) Option(section, name string) (Option, bool) {
	option, ok := c.sections[SectionName(section)][name]
	return option, ok
}

// BackendOption tells whether the section of a volume backend may carry the option.
func (c *Catalog) BackendOption(name string) bool { return c.backend[name] }

// Sections returns the names of all sections, sorted.
func (c *Catalog) Sections() []string { return slices.Sorted(maps.Keys(c.sections)) }

// Options returns the names of all options of a section, sorted.
func (c *Catalog) Options(section string) []string {
	return slices.Sorted(maps.Keys(c.sections[SectionName(section)]))
}

// SectionName is the name under which oslo.config files a section: in lower case, DEFAULT alone as it is.
func SectionName(name string) string {
	if name == DefaultSection {
		return name
	}
	return strings.ToLower(name)
}

// For returns the catalog of an OpenStack release, and whether there is one.
func For(release string) (*Catalog, bool) {
	c, ok := embedded()[release]
	return c, ok
}

// Releases returns the releases that a catalog is embedded of, sorted.
func Releases() []string { return slices.Sorted(maps.Keys(embedded())) }

// IsSection tells whether any embedded catalog has a section of this name.
func IsSection(section string) bool {
	for _, c := range embedded() {
		if c.HasSection(section) {
			return true
		}
	}
	return false
}

//go:embed data/*.json
var data embed.FS

// embedded is decoded once: it is part of the program, so that a catalog that cannot be read is a broken build.
var embedded = sync.OnceValue(func() map[string]*Catalog {
	files, err := fs.Glob(data, "data/*.json")
	if err != nil {
		panic(err)
	}
	out := map[string]*Catalog{}
	for _, file := range files {
		content, err := data.ReadFile(file)
		if err != nil {
			panic(err)
		}
		c, err := read(content)
		if err != nil {
			panic(fmt.Errorf("read %s: %w", file, err))
		}
		out[c.release] = c
	}
	return out
})

func read(content []byte) (*Catalog, error) {
	var file struct {
		Release        string                       `json:"release"`
		Cinder         string                       `json:"cinder"`
		Sections       map[string]map[string]Option `json:"sections"`
		BackendOptions []string                     `json:"backend_options"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(content)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, err
	}
	c := &Catalog{release: file.Release, version: file.Cinder, sections: map[string]map[string]Option{}, backend: map[string]bool{}}
	for section, options := range file.Sections {
		name := SectionName(section)
		if c.sections[name] != nil {
			return nil, fmt.Errorf("section %s stands twice", name)
		}
		c.sections[name] = options
	}
	for _, option := range file.BackendOptions {
		c.backend[option] = true
	}
	return c, nil
}
