// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// listed is what is read of a package, in go list's words.
type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

func TestEveryPackageImportsAlongTheRoomTable(t *testing.T) {
	packages := list(t)
	if len(packages) < 2 {
		t.Fatalf("go list found %d packages; the test looks at the wrong folder", len(packages))
	}
	for _, p := range packages {
		for _, complaint := range judge(p) {
			t.Error(complaint)
		}
	}
}

// judge returns one complaint per import of the package that is not allowed.
func judge(p listed) []string {
	var complaints []string
	complain := func(format string, args ...any) {
		complaints = append(complaints, p.ImportPath+" "+fmt.Sprintf(format, args...))
	}

	here, ok := roomOf(p.ImportPath)
	if !ok {
		complain("is in no room; give its folder a line in the table of test/arch")
		return complaints
	}
	for _, path := range p.Imports {
		if reason := forbidden(here, path, false); reason != "" {
			complain("imports %s: %s", path, reason)
		}
	}
	for _, path := range append(slices.Clone(p.TestImports), p.XTestImports...) {
		if reason := forbidden(here, path, true); reason != "" {
			complain("imports %s in a test: %s", path, reason)
		}
	}
	for _, path := range p.Deps {
		if slices.Contains(p.Imports, path) {
			continue
		}
		if banned, found := under(nowhere, path); found {
			complain("reaches %s through another package: %s is imported nowhere in this module", path, banned)
		}
	}
	return complaints
}

// forbidden returns why a package of a room may not import path, or "".
func forbidden(here room, path string, inTest bool) string {
	if banned, found := under(nowhere, path); found {
		return banned + " is imported nowhere in this module"
	}
	if banned, found := under(here.mayNot, path); found {
		return fmt.Sprintf("%s knows nothing of %s", here.folder, banned)
	}
	if path != module && !strings.HasPrefix(path, module+"/") {
		return ""
	}
	there, ok := roomOf(path)
	switch {
	case !ok:
		return "it is in no room; give its folder a line in the table of test/arch"
	case there.folder == here.folder, slices.Contains(here.may, there.folder), inTest && there.helper:
		return ""
	default:
		return fmt.Sprintf("%s may not import %s", here.folder, there.folder)
	}
}

// roomOf finds the room with the longest folder that holds the package.
func roomOf(path string) (room, bool) {
	var best room
	for _, r := range rooms {
		if _, in := under([]string{module + "/" + r.folder}, path); in && len(r.folder) > len(best.folder) {
			best = r
		}
	}
	return best, best.folder != ""
}

// under finds the first of the folders that path is or lies below. A folder
// ends at a slash or at a major version's dot, so that pkg/client does not
// cover pkg/clientset.
func under(folders []string, path string) (string, bool) {
	for _, folder := range folders {
		if path == folder || strings.HasPrefix(path, folder+"/") {
			return folder, true
		}
	}
	return "", false
}

// list asks the Go command, which alone knows build constraints and modules.
// With -e a package that does not compile is judged all the same: who broke the
// build and who broke the table are two questions.
func list(t *testing.T) []listed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []listed
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("read go list's answer: %v", err)
		}
		packages = append(packages, p)
	}
}
