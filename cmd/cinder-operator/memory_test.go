// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
// a process may write to.
func search(t *testing.T, pid int, markers ...string) map[string]int {
	t.Helper()
	dir := filepath.Join("/proc", fmt.Sprint(pid))
	maps, err := os.ReadFile(filepath.Join(dir, "maps"))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open(filepath.Join(dir, "mem"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	found := map[string]int{}
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !strings.HasPrefix(mode, "rw") {
			continue
		}
		content, err := io.ReadAll(io.NewSectionReader(memory, int64(from), int64(to-from)))
		if err != nil && !errors.Is(err, io.EOF) && len(content) == 0 {
			continue // a mapping of the kernel's own
		}
		for _, m := range markers {
			found[m] += bytes.Count(content, []byte(m)) + bytes.Count(content, []byte(base64.StdEncoding.EncodeToString([]byte(m))))
		}
	}
	return found
}
