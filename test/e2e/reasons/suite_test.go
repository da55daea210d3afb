// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

func TestMain(m *testing.M) {
	// The cases wait far more than they work.
	if err := flag.Set("test.parallel", "20"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	log.SetLogger(logr.Discard())
	os.Exit(harness.Main(m, harness.Options{Targets: 2, Spoils: true}, &lab))
}

const (
	// hub serves every kind of every collaborator.
	hub = ""
	// plain serves built-in kinds alone.
	plain = "edge-1"
	// odd announces groups whose server is not there, and its account lacks a right.
	odd = "edge-2"
)

// testCase brings resources into some rows of the table.
type testCase struct {
	// name is the namespace as well.
	name string
	// on are the clusters that the case's children live on.
	on  string
	run func(c *fixture)
}

// reached is what the cases have brought about.
var reached struct {
	mu   sync.Mutex // guards the fields below
	rows map[row]bool
	done int
}

// fixture is one case at work in a namespace of its own.
type fixture struct {
	*testing.T
	ns, target string
	cluster    *harness.Cluster
	operator   *harness.Operator
	cinder     *v1alpha1.Cinder
}

func run(t *testing.T, operator *harness.Operator, c testCase) {
	t.Helper()
	f := &fixture{T: t, ns: c.name, target: c.on, cluster: lab.Hub, operator: operator}
	if known, ok := lab.Targets[c.on]; ok {
		f.cluster = known
	}
	lab.Namespace(t, c.name, f.cluster)
	c.run(f)
	if !t.Failed() {
		reached.mu.Lock()
		defer reached.mu.Unlock()
		reached.done++
	}
}

// create makes the case's Cinder. It is not deleted: the lab goes, with all that
// is in it.
func (f *fixture) create(change ...func(*v1alpha1.Cinder)) {
	f.Helper()
	f.cinder = harness.Cinder(f.ns, "cinder", f.target)
	for _, do := range change {
		do(f.cinder)
	}
	lab.Hub.Create(f, f.cinder)
}

func (f *fixture) change(do func(*v1alpha1.Cinder)) {
	f.Helper()
	harness.Change(f, lab.Hub, f.cinder, do)
}

// poke wakes the Cinder: what it waits for here is watched by nobody.
func (f *fixture) poke() {
	f.Helper()
	f.change(func(c *v1alpha1.Cinder) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, "example.org/poked", c.ResourceVersion)
	})
}

// says waits until the case's Cinder gives all the answers at once.
func (f *fixture) says(rows ...[]row) {
	f.Helper()
	f.reaches(f.cinder, slices.Concat(rows...)...)
}

// reaches waits until an object gives all the answers at once.
func (f *fixture) reaches(obj client.Object, rows ...row) {
	f.Helper()
	f.reachesWithin(harness.ReadyTimeout, obj, rows...)
}

func (f *fixture) reachesWithin(d time.Duration, obj client.Object, rows ...row) {
	f.Helper()
	var want []harness.Want
	for _, r := range rows {
		if kind := kindOf(obj); r.kind != kind {
			f.Fatalf("%s is no row of a %s", r, kind)
		}
		if !slices.Contains(table, r) {
			f.Fatalf("the table has no row %s", r)
		}
		want = append(want, harness.Want{Type: r.typ, Status: r.status, Reason: r.reason})
	}
	lab.WaitFor(f, d, obj, want...)
	reached.mu.Lock()
	defer reached.mu.Unlock()
	if reached.rows == nil {
		reached.rows = map[row]bool{}
	}
	for _, r := range rows {
		reached.rows[r] = true
	}
}

func kindOf(obj client.Object) string {
	switch obj.(type) {
	case *v1alpha1.Cinder:
		return cinder
	case *v1alpha1.CinderBackend:
		return backend
	case *v1alpha1.CinderBackupBackend:
		return backupBackend
	}
	return targetCluster
}

// shared are the cases under one operator, side by side.
var shared = slices.Concat(
	registrationCases, credentialCases, databaseCases, upgradeCases, workloadCases, storageCases, apiCases, optionalCases, foreignCases,
)

func TestEveryReasonIsReached(t *testing.T) {
	prepareCollaborators(t)
	prepareOdd(t)
	t.Run("by an operator that serves one namespace", func(t *testing.T) {
		restricted := restrictedCases[0]
		run(t, lab.StartOperator(t, "--namespace", restricted.name, "--allow-local-targets=false"), restricted)
	})
	lab.Register(t, plain, lab.Targets[plain])
	lab.Register(t, odd, lab.Targets[odd])
	t.Run("by an operator that serves all", func(t *testing.T) {
		operator := lab.StartOperator(t, harness.QuickProbes()...)
		for _, c := range shared {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				run(t, operator, c)
			})
		}
	})
	reached.mu.Lock()
	defer reached.mu.Unlock()
	if reached.done < len(shared)+len(restrictedCases) {
		return // a case that failed says so itself, and one of many was asked for
	}
	for _, r := range table {
		if !reached.rows[r] {
			t.Errorf("no case reaches %s", r)
		}
	}
}

// remove deletes an object beside the children, and what it has made.
func (f *fixture) remove(obj client.Object) {
	f.Helper()
	if err := f.cluster.Client.Delete(f.Context(), obj, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		f.Fatal(err)
	}
}

// foreign makes an object of a kind that the scheme does not know.
func (f *fixture) foreign(kind, apiVersion, name string, content map[string]any) *unstructured.Unstructured {
	f.Helper()
	u := unstructuredOf(kind, apiVersion, f.ns, name)
	for key, value := range content {
		u.Object[key] = value
	}
	f.cluster.Create(f, u)
	return u
}

func unstructuredOf(kind, apiVersion, ns, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(ns)
	u.SetName(name)
	return u
}
