// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"c5c3.io/cinder-operator/test/lab/internal/build"
	"c5c3.io/cinder-operator/test/lab/internal/kubeclient"
)

// TestEachClusterIsAControlPlaneOfItsOwn is not parallel: it sees all clusters before one of them has its outages.
func TestEachClusterIsAControlPlaneOfItsOwn(t *testing.T) {
	status := shared.status(t)
	names, uids := []string{}, map[string]bool{}
	for _, c := range status.Clusters {
		names = append(names, c.Name)
		system, err := shared.client(t, c.Name).CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		uids[string(system.UID)] = true
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
	if want := "fake-0 500 \nfake-1 500 \n"; err != nil || nodes != want {
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
		user, err := kubeclient.Typed(file)
		if err != nil {
			return "", err
		}
		review, err := user.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		return review.Status.UserInfo.Username, nil
	}
	if out, err := whoAmI(); err != nil || out != "system:serviceaccount:default:default" {
		t.Errorf("the account is %q: %v", out, err)
	}
	if err := shared.client(t, "edge-1").CoreV1().Secrets(metav1.NamespaceDefault).Delete(t.Context(), "revocable", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the token is refused", func() (bool, string) {
		out, err := whoAmI()
		return apierrors.IsUnauthorized(err), fmt.Sprint(out, err)
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
	shared.must(t, "crds", "hub", "vpa", "mariadb-operator")
	client := shared.client(t, "hub").CoreV1().RESTClient()
	for _, path := range []string{"/apis/autoscaling.k8s.io/v1/verticalpodautoscalers", "/apis/k8s.mariadb.com/v1alpha1/mariadbs"} {
		if _, err := client.Get().AbsPath(path).DoRaw(t.Context()); err != nil {
			t.Errorf("list %s: %v", path, err)
		}
	}
	shared.must(t, "crds", "hub", "--remove", "vpa")
	out, err := shared.kubectl("hub", "get", "crds", "-o", "name")
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
