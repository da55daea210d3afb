// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheKeyChangesWithEverythingThatIsBuilt(t *testing.T) {
	sources := t.TempDir()
	p := Piece{Name: "tiny", Version: "v1", Package: "."}
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		write(t, filepath.Join(sources, "tiny", name), "first")
	}
	seen := map[string]bool{}
	check := func(p Piece) {
		t.Helper()
		key, err := p.key(sources)
		if err != nil {
			t.Fatal(err)
		}
		if seen[key] {
			t.Errorf("key %s is not new", key)
		}
		seen[key] = true
		if again, _ := p.key(sources); again != key {
			t.Errorf("keys %s and %s of the same piece", key, again)
		}
	}
	check(p)
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		write(t, filepath.Join(sources, "tiny", name), "second")
		check(p)
	}
	p.LDFlags = "-X a.b=c"
	check(p)
	p.Tags = "t"
	check(p)
}

func TestAPieceIsBuiltOnceAndCalledByItsNames(t *testing.T) {
	sources, cache := t.TempDir(), t.TempDir()
	write(t, filepath.Join(sources, "tiny", "go.mod"), "module tiny\n\ngo 1.26\n")
	write(t, filepath.Join(sources, "tiny", "go.sum"), "")
	write(t, filepath.Join(sources, "tiny", "main.go"), "package main\n\nfunc main() {}\n")
	p := Piece{Name: "tiny", Version: "v1", Package: ".", Names: []string{"other"}}
	dir, err := p.ensure(t.Context(), sources, cache, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.ensure(t.Context(), sources, cache, io.Discard); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(filepath.Join(dir, "tiny"))
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("the names are different files, or it was built twice")
	}
	if leftovers, _ := filepath.Glob(filepath.Join(cache, "*.tmp-*")); len(leftovers) != 0 {
		t.Errorf("left behind: %v", leftovers)
	}
}

func TestAFailedBuildLeavesNothingAndSaysWhy(t *testing.T) {
	sources, cache := t.TempDir(), t.TempDir()
	write(t, filepath.Join(sources, "tiny", "go.mod"), "module tiny\n\ngo 1.26\n")
	write(t, filepath.Join(sources, "tiny", "go.sum"), "")
	write(t, filepath.Join(sources, "tiny", "main.go"), "package main\n\nfunc main() { nonsense }\n")
	_, err := Piece{Name: "tiny", Version: "v1", Package: "."}.ensure(t.Context(), sources, cache, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("the error is %v", err)
	}
	if dirs, _ := filepath.Glob(filepath.Join(cache, "tiny-v1-*[^k]")); len(dirs) != 0 {
		t.Errorf("left behind: %v", dirs)
	}
}

func TestALockAdmitsOneAndWaitsNoLongerThanAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, func() { t.Error("the first one waits") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	told := 0
	if _, err := lock(ctx, path, func() { told++ }); !errors.Is(err, context.DeadlineExceeded) || told != 1 {
		t.Errorf("the second one got %v and was told %d times", err, told)
	}
	unlock()
	unlock, err = lock(t.Context(), path, func() { t.Error("waits for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestTheSourcesAreFoundFromAnywhereInTheClone(t *testing.T) {
	dir, err := Sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Piece{Kube, Kwok} {
		if _, err := p.key(dir); err != nil {
			t.Errorf("the module of %s: %v", p.Name, err)
		}
	}
	t.Setenv(SourcesEnv, t.TempDir())
	if dir, err := Sources(); err == nil {
		t.Errorf("an empty folder serves as sources: %s", dir)
	}
}
