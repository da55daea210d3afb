// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link is an inline Markdown link that leads to a file: no scheme, no anchor
// alone.
var link = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)

func TestEveryLinkOfTheDocumentationLeadsSomewhere(t *testing.T) {
	root := "../.."
	pages, links := 0, 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == "_output" || (strings.HasPrefix(name, ".") && name != "..") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		pages++
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range link.FindAllStringSubmatch(string(page), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), match[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", strings.TrimPrefix(path, root+"/"), match[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages == 0 || links == 0 {
		t.Fatalf("found %d pages with %d links: the test looks at the wrong folder", pages, links)
	}
}
