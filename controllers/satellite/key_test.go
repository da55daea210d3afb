// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

const cephKey = "AQBzm0VoQ2x9JBAAeT1n6hV4cRk8yL2oWq5dXg=="

func cephSecret(namespace string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ceph"},
		Data:       map[string][]byte{"userKey": []byte(cephKey)},
	}
}

func TestTheKeySecretDecidesAboutAnRBDBackend(t *testing.T) {
	f := newFixture(t)
	b := rbdBackend(f.namespace)
	must(t, api.Create(f.ctx, b))

	waiting := "False/" + v1alpha1.ReasonWaitingForCredentials
	missing := "RBD key ExternalSecret " + f.namespace + "/ceph not found yet"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "ceph"}}
	for _, step := range []struct {
		name    string
		data    map[string][]byte
		want    string
		message string
	}{
		{"no Secret", nil, waiting, missing},
		{"a Secret without the key", map[string][]byte{"other": []byte("x")}, waiting, "RBD key Secret exists but is missing expected keys"},
		{"an empty key", map[string][]byte{"userKey": []byte(" \n")}, waiting, `Secret "ceph" carries an empty userKey`},
		{"a key that is no base64", map[string][]byte{"userKey": []byte("secret!")}, waiting, `Secret "ceph" carries a userKey that is not a cephx key (base64 expected)`},
		{"a key over two lines", map[string][]byte{"userKey": []byte("AQBz\nm0Vo")}, waiting, `Secret "ceph" carries a userKey that is not a cephx key (base64 expected)`},
		{"a key with a line break after it", map[string][]byte{"userKey": []byte(cephKey + "\n")}, "True/" + v1alpha1.ReasonCredentialsAvailable, `RBD key Secret "ceph" carries the userKey data key`},
	} {
		if step.data != nil {
			secret.Data = step.data
			if secret.ResourceVersion == "" {
				must(t, api.Create(f.ctx, secret))
			} else {
				must(t, api.Update(f.ctx, secret))
			}
		}
		if result := f.mustPass(b); result.RequeueAfter != requeueSecretPolling {
			t.Errorf("%s: next pass after %s, want %s", step.name, result.RequeueAfter, requeueSecretPolling)
		}
		f.expect(b, v1alpha1.ConditionCredentialsReady, step.want)
		if got := f.message(b, v1alpha1.ConditionCredentialsReady); got != step.message {
			t.Errorf("%s: message %q, want %q", step.name, got, step.message)
		}
	}

	must(t, api.Delete(f.ctx, secret))
	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionCredentialsReady, waiting)
	// What is behind the gate keeps its last answer.
	f.expect(b, v1alpha1.ConditionConfigProjected, "False/"+v1alpha1.ReasonWaitingForProjection)
}

func TestAReadyRBDBackendIsLookedAtAgainAndLosesWhatItWasWithoutItsKey(t *testing.T) {
	f := newFixture(t)
	b := rbdBackend(f.namespace)
	must(t, api.Create(f.ctx, b))
	must(t, api.Create(f.ctx, cephSecret(f.namespace)))
	f.mustPass(b)
	f.project(b)
	if result := f.mustPass(b); result.RequeueAfter != requeueSecretPolling {
		t.Errorf("next pass after %s, want %s: a lost key must be seen where no watch tells of it", result.RequeueAfter, requeueSecretPolling)
	}
	f.expect(b, v1alpha1.ConditionReady, "True/"+v1alpha1.ReasonAllReady)

	must(t, api.Delete(f.ctx, cephSecret(f.namespace)))
	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionCredentialsReady, "False/"+v1alpha1.ReasonWaitingForCredentials)
	// What is behind the gate is not looked at, and keeps its last answer.
	f.expect(b, v1alpha1.ConditionConfigProjected, "True/"+v1alpha1.ReasonConfigProjected)
	f.expect(b, v1alpha1.ConditionReady, "False/"+v1alpha1.ReasonNotAllReady)
}

func TestAFailedReadIsNoAnswerAboutCredentials(t *testing.T) {
	f := newFixture(t)
	b := rbdBackend(f.namespace)
	must(t, api.Create(f.ctx, b))
	must(t, api.Create(f.ctx, cephSecret(f.namespace)))
	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionCredentialsReady, "True/"+v1alpha1.ReasonCredentialsAvailable)

	refused := errors.New("secrets is forbidden")
	f.target.inputErr = refused
	_, err := f.pass(b)
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "read Secret "+f.namespace+`/ceph on "edge-1"`) {
		t.Errorf("error %v, want it to wrap %v and name the Secret and the cluster", err, refused)
	}
	f.expect(b, v1alpha1.ConditionCredentialsReady, "True/"+v1alpha1.ReasonCredentialsAvailable)

	f.target.inputErr = &clusters.UnavailableError{
		Cluster: "edge-1", Cause: clusters.CauseUnreachable, Message: `target cluster "edge-1" is unreachable since noon: refused`,
	}
	if result := f.mustPass(b); result.RequeueAfter != requeueSecretPolling {
		t.Errorf("next pass after %s, want %s", result.RequeueAfter, requeueSecretPolling)
	}
	f.expect(b, v1alpha1.ConditionCredentialsReady, "False/"+v1alpha1.ReasonTargetClusterUnavailable)
}

func TestASecretThatIsAnnouncedIsToldFromOneThatIsNot(t *testing.T) {
	f := newFixture(t)
	b := rbdBackend(f.namespace)
	must(t, api.Create(f.ctx, b))
	f.target.serves[externalSecretKind] = true

	// The API server of this package does not serve the kind: a read that fails
	// is no answer, so nothing is said yet.
	if _, err := f.pass(b); err == nil || !strings.Contains(err.Error(), "read ExternalSecret "+f.namespace+"/ceph") {
		t.Fatalf("error %v, want one about the ExternalSecret", err)
	}
	f.expect(b, v1alpha1.ConditionCredentialsReady, "Unknown/"+v1alpha1.ReasonPending)

	serveExternalSecrets(t)
	f.mustPass(b)
	if got, want := f.message(b, v1alpha1.ConditionCredentialsReady), "RBD key ExternalSecret "+f.namespace+"/ceph not found yet"; got != want {
		t.Errorf("without an ExternalSecret: message %q, want %q", got, want)
	}
	must(t, api.Create(f.ctx, externalSecret(f.namespace, "ceph")))
	f.mustPass(b)
	if got, want := f.message(b, v1alpha1.ConditionCredentialsReady), "waiting for the RBD key Secret to carry the userKey data key"; got != want {
		t.Errorf("with an ExternalSecret: message %q, want %q", got, want)
	}
}

func TestADriverWithoutItsBlockIsToldSo(t *testing.T) {
	f := newFixture(t)
	// The schema refuses it; an object may still have come past it.
	b := rbdBackend(f.namespace)
	b.Spec.RBD = nil
	v, _, err := credentials(f.ctx, f.target, backends().read(b))
	must(t, err)
	want := verdict{metav1.ConditionFalse, v1alpha1.ReasonWaitingForCredentials, "spec.rbd is not set; no RBD key to resolve"}
	if v != want {
		t.Errorf("verdict %+v, want %+v", v, want)
	}
}
