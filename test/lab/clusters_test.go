// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"c5c3.io/cinder-operator/test/lab/internal/build"
)

func TestEachClusterIsAControlPlaneOfItsOwn(t *testing.T) {
	t.Parallel()
	status := shared.status(t)
	names, uids := []string{}, map[string]bool{}
	for _, c := range status.Clusters {
		names = append(names, c.Name)
		out, err := shared.kubectl(c.Name, "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}")
		if err != nil {
			t.Fatal(err)
		}
		uids[out] = true
		for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"} {
			if c.PIDs[program] == 0 {
				t.Errorf("%s has no %s", c.Name, program)
			}
		}
		if c.Kubeconfig != filepath.Join(shared.dir, c.Name+".kubeconfig") || len(c.Problems) > 0 {
			t.Errorf("the status of %s is %+v", c.Name, c)
		}
	}
	if want := []string{"hub", "edge-1", "edge-2"}; !slices.Equal(names, want) || len(uids) != len(want) {
		t.Errorf("clusters %v with %d identities, want %v", names, len(uids), want)
	}
	out, err := shared.kubectl("hub", "version", "-o", "json")
	if err != nil || !strings.Contains(out, `"gitVersion": "`+build.KubernetesVersion+`"`) {
		t.Errorf("the version is %s %v", out, err)
	}
	nodes, err := shared.kubectl("hub", "get", "nodes", "-o", "jsonpath={range .items[*]}{.metadata.name} {.status.capacity.pods} {.spec.taints}{\"\\n\"}{end}")
	if want := "fake-0 500 \nfake-1 500 \nfake-2 500 \n"; err != nil || nodes != want {
		t.Errorf("the nodes are %q, want %q (%v)", nodes, want, err)
	}
}

func TestAnAccountIsItsServiceAccountUntilItsSecretIsDeleted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "account.kubeconfig")
	shared.must(t, "account", "edge-1", "--namespace", "default", "--service-account", "default", "--token-secret", "revocable", "--out", file)
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		if user.Token == "" || user.TokenFile != "" || len(user.ClientCertificateData) > 0 {
			t.Error("the user of the account has no token alone")
		}
	}
	whoAmI := func() (string, error) {
		return shared.kubectl("edge-1", "--kubeconfig", file, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	}
	if out, err := whoAmI(); err != nil || out != "system:serviceaccount:default:default" {
		t.Errorf("the account is %q: %v", out, err)
	}
	if _, err := shared.kubectl("edge-1", "delete", "secret", "revocable"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the token is refused", func() (bool, string) {
		out, err := whoAmI()
		return err != nil && strings.Contains(err.Error(), "Unauthorized"), out
	})
}

func TestRequestsAreInTheAuditLogWhenTheyAreAnswered(t *testing.T) {
	t.Parallel()
	if _, err := shared.kubectl("edge-1", "create", "configmap", "audited", "--from-literal=secret=of-the-body"); err != nil {
		t.Fatal(err)
	}
	var log string
	for _, c := range shared.status(t).Clusters {
		if c.Name == "edge-1" {
			log = c.AuditLog
		}
	}
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	type event struct {
		Stage     string
		Verb      string
		ObjectRef struct{ Resource, Name string }
		User      struct{ Username string }
	}
	var found []event
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if strings.Contains(scanner.Text(), "of-the-body") {
			t.Error("the audit log holds a body")
		}
		var e event
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			// The last line may be half-written by another request.
			continue
		}
		if e.ObjectRef.Name == "audited" && e.Verb == "create" {
			found = append(found, e)
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Stage != "ResponseComplete" || found[0].User.Username != "lab-admin" {
		t.Errorf("found %+v", found)
	}
}

func TestCollaboratorsDefinitionsAreServedAndRemoved(t *testing.T) {
	t.Parallel()
	shared.must(t, "crds", "edge-1", "vpa", "mariadb-operator")
	for _, kind := range []string{"verticalpodautoscalers", "mariadbs"} {
		if _, err := shared.kubectl("edge-1", "explain", kind); err != nil {
			t.Error(err)
		}
	}
	shared.must(t, "crds", "edge-1", "--remove", "vpa")
	out, err := shared.kubectl("edge-1", "get", "crds", "-o", "name")
	if err != nil || strings.Contains(out, "verticalpodautoscaler") || !strings.Contains(out, "mariadbs.k8s.mariadb.com") {
		t.Errorf("the definitions are %s %v", out, err)
	}
}

func TestACommandNamesTheClustersThereAre(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"kill", "edge-9"}, {"job-end", "edge-9", "--job", "x"}, {"account", "edge-9", "--namespace", "a", "--service-account", "b"}} {
		_, err := shared.run(args...)
		if err == nil || !strings.Contains(err.Error(), `no cluster "edge-9", only [hub edge-1 edge-2]`) {
			t.Errorf("lab %s: %v", strings.Join(args, " "), err)
		}
	}
}
