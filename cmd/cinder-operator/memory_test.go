// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

// The operator in a process of its own, whose whole memory is searched: not only
// what is reachable, but every buffer that anything ever passed through.
func TestNoSecretThatNoCinderRefersToIsEverInMemory(t *testing.T) {
	target, err := os.ReadFile(account)
	if err != nil {
		t.Fatal(err)
	}
	inUse, elsewhere := newNamespace(t), newNamespace(t)
	referred, beside, foreign := marker(t), marker(t), marker(t)
	secretWith(t, inUse, "db", referred)
	secretWith(t, inUse, "beside", beside)
	secretWith(t, elsewhere, "foreign", foreign)
	registration := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: clusters.DefaultClustersNamespace, Name: "edge", Labels: map[string]string{v1alpha1.LabelKubeconfig: "true"},
		},
		Data: map[string][]byte{v1alpha1.RegistrationKeyKubeconfig: target},
	}
	if err := admin.Create(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Delete(context.WithoutCancel(t.Context()), registration) })
	p := start(t, "--kubeconfig="+account, "--allow-local-targets")
	for _, name := range []string{"", "edge"} {
		cr := &v1alpha1.Cinder{
			ObjectMeta: metav1.ObjectMeta{Namespace: inUse, Name: "cinder" + name},
			Spec: v1alpha1.CinderSpec{
				OpenStackRelease: "2026.1",
				Image:            v1alpha1.ImageSpec{Repository: "registry.example.org/cinder", Tag: "2026.1"},
				Database:         v1alpha1.DatabaseSpec{Host: "db", Database: "cinder", SecretRef: v1alpha1.SecretRefSpec{Name: "db"}},
				Cache:            v1alpha1.CacheSpec{Servers: []string{"cache:11211"}},
				Messaging:        v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "bus"}},
			},
		}
		if name != "" {
			cr.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: name}
		}
		if err := admin.Create(t.Context(), cr); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(context.WithoutCancel(t.Context()), cr) })
		// The database's Secret was read when the broker's is what is missed.
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 60*time.Second, true, func(ctx context.Context) (bool, error) {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(cr), cr); err != nil {
				return false, err
			}
			c := meta.FindStatusCondition(cr.Status.Conditions, v1alpha1.ConditionSecretsReady)
			return c != nil && strings.Contains(c.Message, "bus"), nil
		})
		if err != nil {
			t.Fatalf("Cinder %s: %v; conditions %+v", cr.Name, err, cr.Status.Conditions)
		}
	}
	p.eventually("http://"+p.metrics+"/metrics", func(_ int, body string) bool {
		return strings.Contains(body, `cinder_operator_target_cluster_cached_objects{cluster="edge",kind="SecretMetadata"}`)
	})

	found := search(t, p.cmd.Process.Pid, referred, beside, foreign)
	if found[referred] == 0 {
		t.Error("the Secret that is referred to is not found: the search finds nothing")
	}
	if found[beside] != 0 {
		t.Errorf("the Secret beside it is in memory, %d times", found[beside])
	}
	if found[foreign] != 0 {
		t.Errorf("the Secret of another namespace is in memory, %d times", found[foreign])
	}
}

func marker(t *testing.T) string {
	t.Helper()
	raw := make([]byte, 24)
	if _, err := rand.Read(raw); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(raw)
}

func secretWith(t *testing.T, namespace, name, value string) {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		StringData: map[string]string{"username": value, "password": value},
	}
	if err := admin.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// search counts what it finds of each marker, as it is and in base64, in all that
// a process wrote to.
func search(t *testing.T, pid int, markers ...string) map[string]int {
	t.Helper()
	dir := filepath.Join("/proc", fmt.Sprint(pid))
	maps, err := os.ReadFile(filepath.Join(dir, "maps"))
	if err != nil {
		t.Fatal(err)
	}
	memory, pages := open(t, filepath.Join(dir, "mem")), open(t, filepath.Join(dir, "pagemap"))
	found := map[string]int{}
	var content []byte
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !strings.HasPrefix(mode, "rw") {
			continue
		}
		for _, r := range written(t, pages, from, to) {
			content = slices.Grow(content[:0], int(r.to-r.from))[:r.to-r.from]
			n, err := memory.ReadAt(content, int64(r.from))
			if err != nil && n == 0 {
				continue // a mapping of the kernel's own
			}
			for _, m := range markers {
				found[m] += bytes.Count(content[:n], []byte(m)) + bytes.Count(content[:n], []byte(base64.StdEncoding.EncodeToString([]byte(m))))
			}
		}
	}
	return found
}

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

type memoryRange struct{ from, to uint64 }

// written lists which parts of a mapping hold anything. The race detector maps
// gigabytes of which it uses little, and a page that was never written to is read
// as zeros like any other.
func written(t *testing.T, pages *os.File, from, to uint64) []memoryRange {
	t.Helper()
	// An entry of 64 bits a page; the upper two tell of one that is in memory or swapped out: proc_pid_pagemap(5).
	const entry, there = 8, uint64(3) << 62
	size := uint64(os.Getpagesize())
	entries := make([]byte, (to-from)/size*entry)
	if _, err := pages.ReadAt(entries, int64(from/size*entry)); err != nil {
		t.Fatalf("which pages of %x-%x are used: %v", from, to, err)
	}
	var ranges []memoryRange
	for i := 0; i < len(entries); i += entry {
		if binary.NativeEndian.Uint64(entries[i:])&there == 0 {
			continue
		}
		at := from + uint64(i/entry)*size
		if last := len(ranges) - 1; last >= 0 && ranges[last].to == at {
			ranges[last].to += size
		} else {
			ranges = append(ranges, memoryRange{at, at + size})
		}
	}
	return ranges
}
