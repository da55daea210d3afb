// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"strings"
	"testing"
)

func TestTheTableForbidsWhatTheArchitectureForbids(t *testing.T) {
	for _, pair := range []struct{ from, to, because string }{
		{"api/v1alpha1", "api/catalog", "api/v1alpha1 may not import api/catalog"},
		{"api/v1alpha1", "clusters", "may not import"},
		{"api/catalog", "api/v1alpha1", "may not import"},
		{"api/admission", "controllers/cinder", "may not import"},
		{"clusters", "projection", "clusters may not import projection"},
		{"clusters", "controllers/pipeline", "may not import"},
		{"projection", "internal/render/ini", "may not import"},
		{"projection", "controllers/cinder", "may not import"},
		{"internal/render/workload", "clusters", "may not import"},
		{"internal/render/conf", "projection", "may not import"},
		{"internal/render/conf", "sigs.k8s.io/controller-runtime/pkg/client", "knows nothing of"},
		{"internal/render/ini", "k8s.io/client-go/kubernetes", "knows nothing of"},
		{"controllers/pipeline", "controllers/cinder", "may not import"},
		{"controllers/pipeline", "internal/render/conf", "may not import"},
		{"controllers/cinder", "controllers/satellite", "may not import"},
		{"controllers/satellite", "controllers/cinder", "may not import"},
		{"controllers/cinder", "cmd/cinder-operator", "may not import"},
		{"cmd/cinder-operator", "test/e2e", "may not import"},
		{"cmd/cinder-operator", "test/lab", "imported nowhere"},
		{"test/e2e", "test/lab/internal/build", "imported nowhere"},
		{"test/e2e", "cmd/cinder-operator", "may not import"},
		{"projection", "k8s.io/kubernetes/pkg/api", "imported nowhere"},
		{"projection", "sigs.k8s.io/controller-runtime/pkg/client/fake", "imported nowhere"},
		{"projection", "unknown/folder", "in no room"},
	} {
		t.Run(pair.from+" does not import "+pair.to, func(t *testing.T) {
			complaints := judge(listed{ImportPath: qualify(pair.from), Imports: []string{qualify(pair.to)}})
			if len(complaints) != 1 || !strings.Contains(complaints[0], pair.because) {
				t.Fatalf("want one complaint with %q, got %q", pair.because, complaints)
			}
			if pair.to == "test/e2e" {
				return // The one room that test files of every other may import.
			}
			inTests := judge(listed{ImportPath: qualify(pair.from), XTestImports: []string{qualify(pair.to)}})
			if len(inTests) != 1 || !strings.Contains(inTests[0], pair.because) {
				t.Fatalf("in a test: want one complaint with %q, got %q", pair.because, inTests)
			}
		})
	}
}

func TestTheTableAllowsWhatTheArchitectureAllows(t *testing.T) {
	for _, pair := range [][2]string{
		{"cmd/cinder-operator", "controllers/cinder"},
		{"cmd/cinder-operator", "clusters"},
		{"controllers/cinder", "controllers/pipeline"},
		{"controllers/cinder", "internal/render/workload"},
		{"controllers/cinder", "projection"},
		{"controllers/satellite", "clusters"},
		{"internal/render/workload", "internal/render/ini"},
		{"internal/render/workload", "api/v1alpha1"},
		{"projection", "clusters"},
		{"projection", "sigs.k8s.io/controller-runtime/pkg/client"},
		{"clusters", "api/v1alpha1"},
		{"api/admission", "api/catalog"},
		{"test/e2e", "projection"},
	} {
		if got := judge(listed{ImportPath: qualify(pair[0]), Imports: []string{qualify(pair[1])}}); len(got) != 0 {
			t.Errorf("%s imports %s: unexpected %q", pair[0], pair[1], got)
		}
	}
}

func TestAPackageOutsideEveryRoomIsReported(t *testing.T) {
	got := judge(listed{ImportPath: qualify("utils")})
	if len(got) != 1 || !strings.Contains(got[0], "in no room") {
		t.Fatalf("got %q", got)
	}
}

func TestABannedPackageIsFoundBehindAnother(t *testing.T) {
	got := judge(listed{ImportPath: qualify("clusters"), Deps: []string{"k8s.io/kubernetes/pkg/apis/core"}})
	if len(got) != 1 || !strings.Contains(got[0], "reaches k8s.io/kubernetes/pkg/apis/core") {
		t.Fatalf("got %q", got)
	}
}

func TestEveryNameInTheTableIsARoom(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rooms {
		if known[r.folder] {
			t.Errorf("%s has two lines", r.folder)
		}
		known[r.folder] = true
	}
	for _, r := range rooms {
		for _, name := range r.may {
			if !known[name] {
				t.Errorf("%s may import %s, which is no room", r.folder, name)
			}
		}
	}
}

// qualify turns a folder of the table into an import path, and leaves the path
// of another module alone.
func qualify(folder string) string {
	if strings.Contains(strings.SplitN(folder, "/", 2)[0], ".") {
		return folder
	}
	return module + "/" + folder
}
