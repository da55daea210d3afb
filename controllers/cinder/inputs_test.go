// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func withKeystone(cr *v1alpha1.Cinder) {
	cr.Spec.KeystoneEndpoint = "https://keystone.example.org/v3"
	cr.Spec.ServiceUser = &v1alpha1.ServiceUserSpec{SecretRef: v1alpha1.SecretRefSpec{Name: "user", Key: "pw"}}
}

// Each wrong input is put right while nothing polls: the Secret's event alone
// has to move the condition on.
func TestWrongInputsAreNamedAndAwaitedByEvent(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.cinder(withKeystone)

	steps := []struct {
		says   string
		reason string
		parts  []string
		repair func()
	}{
		{"the database Secret is missing", v1alpha1.ReasonWaitingForDBCredentials, []string{"Secret " + f.ns + "/db", f.target, "does not exist"},
			func() { f.secret("db", map[string]string{"username": "cinder"}) }},
		{"the database password is missing", v1alpha1.ReasonWaitingForDBCredentials, []string{"Secret " + f.ns + "/db", `"password"`},
			func() { f.setSecret("db", "password", "secret") }},
		{"the service user's Secret is missing", v1alpha1.ReasonWaitingForServiceUserCredentials, []string{"Secret " + f.ns + "/user", "does not exist"},
			func() { f.secret("user", map[string]string{"password": "under another key"}) }},
		{"the service user's key is missing", v1alpha1.ReasonWaitingForServiceUserCredentials, []string{`"pw"`},
			func() { f.setSecret("user", "pw", "a$b") }},
		{"the bus Secret is missing", v1alpha1.ReasonWaitingForMessagingCredentials, []string{"Secret " + f.ns + "/bus", "does not exist"},
			func() { f.secret("bus", map[string]string{"transport_url": "amqp://cinder:hunter2@rabbit"}) }},
		{"the transport URL has another scheme", v1alpha1.ReasonWaitingForMessagingCredentials, []string{"rabbit://"},
			func() { f.setSecret("bus", "transport_url", "rabbit://cinder:hun%2Fter2@rabbit:5671/") }},
		{"the bus password carries a slash", v1alpha1.ReasonWaitingForMessagingCredentials, []string{`"/"`},
			func() { f.setSecret("bus", "transport_url", "rabbit://cinder:hunter$2@rabbit:5671/") }},
	}
	for _, step := range steps {
		f.eventually(step.says, func(context.Context) error {
			message := f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, step.reason)
			if err := contains(message, step.parts...); err != nil {
				return err
			}
			if contains(message, "hunter") == nil {
				t.Fatalf("the message carries a password: %s", message)
			}
			return nil
		})
		step.repair()
	}
	f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
	for name, want := range map[string][2]string{
		"cinder-service-user":  {"password", `a\$b`},
		"cinder-transport-url": {"transport_url", `rabbit://cinder:hunter\$2@rabbit:5671/`},
		"cinder-db-connection": {"connection", "mysql+pymysql://cinder:secret@db.openstack.svc:3306/cinder?charset=utf8mb4"},
	} {
		var s corev1.Secret
		f.awaitChild(&s, name)
		if got := string(s.Data[want[0]]); got != want[1] {
			t.Errorf("Secret %s carries %q, want %q", name, got, want[1])
		}
	}
}

// setSecret changes one key of a user's Secret.
func (f *fixture) setSecret(name, key, value string) {
	f.Helper()
	var s corev1.Secret
	if err := f.children.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: name}, &s); err != nil {
		f.Fatal(err)
	}
	s.StringData = map[string]string{key: value}
	if err := f.children.Update(f.Context(), &s); err != nil {
		f.Fatal(err)
	}
}

func TestWhatIsNamedAndNotThereIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*v1alpha1.Cinder)
		typ    string
		reason string
		field  string
	}{
		"managed database": {func(cr *v1alpha1.Cinder) {
			cr.Spec.Database.Host, cr.Spec.Database.ClusterRef = "", &v1alpha1.ClusterRefSpec{Name: "mariadb"}
		}, v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonClusterNotReady, "mariadb does not exist on the hub"},
		"managed bus": {func(cr *v1alpha1.Cinder) {
			cr.Spec.Messaging = v1alpha1.MessagingSpec{ClusterRef: &v1alpha1.ClusterRefSpec{Name: "rabbit"}}
		}, v1alpha1.ConditionSecretsReady, v1alpha1.ReasonWaitingForMessagingCredentials, "rabbit does not exist on the hub"},
		"secret store on a cluster without external-secrets": {func(cr *v1alpha1.Cinder) {
			cr.Spec.SecretStoreRef = &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindNamespaced, Name: "vault"}
		}, v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretStoreNotReady, "vault"},
		"image of another release": {func(cr *v1alpha1.Cinder) {
			cr.Spec.Image.Tag = "2026.2-p1"
		}, v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonImageReleaseMismatch, "2026.2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := onHub(t)
			f.secrets()
			f.cinder(c.change)
			if err := contains(f.awaitCondition(c.typ, metav1.ConditionFalse, c.reason), c.field); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOptionalPartsAnswerForWhatTheClusterLacks(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge", apiServersAt("192.0.2.0/24"))
	f.install()
	f.create(suite.hub, &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Name: "ceph", Namespace: f.ns},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName}, Type: v1alpha1.CinderBackendTypeRBD,
			RBD: &v1alpha1.RBDBackendSpec{RBDPoolSpec: v1alpha1.RBDPoolSpec{
				Pool: "volumes", User: "cinder", Monitors: []v1alpha1.CephHost{"mon"}, Networks: []v1alpha1.IPv4CIDR{"10.0.0.0/8"},
				KeySecretRef: v1alpha1.SecretNameRefSpec{Name: "key"},
			}},
		},
	})
	f.update(func(cr *v1alpha1.Cinder) {
		withKeystone(cr)
		cr.Spec.Gateway = &v1alpha1.GatewaySpec{Hostname: "volume.example.org", ParentRef: v1alpha1.GatewayParentRefSpec{Name: "gw"}}
		cr.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 5, TargetCPUUtilization: ptr.To[int32](80)}
		cr.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{{}}}
		cr.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{
			VerticalAutoscaling: &v1alpha1.VerticalAutoscalingSpec{UpdateMode: v1alpha1.VerticalAutoscalingOff},
		}}
	})
	f.secret("user", map[string]string{"pw": "secret"})
	f.endNextJob("cinder-db-sync")
	f.rollUntil(func(cr *v1alpha1.Cinder) error {
		for typ, reason := range map[string]string{
			v1alpha1.ConditionBackendsReady:      v1alpha1.ReasonWaitingForBackends,
			v1alpha1.ConditionHTTPRouteReady:     v1alpha1.ReasonGatewayAPINotInstalled,
			v1alpha1.ConditionHPAReady:           v1alpha1.ReasonHPAReady,
			v1alpha1.ConditionVPAReady:           v1alpha1.ReasonVPANotInstalled,
			v1alpha1.ConditionNetworkPolicyReady: v1alpha1.ReasonNetworkPolicyReady,
			v1alpha1.ConditionReady:              v1alpha1.ReasonNotAllReady,
		} {
			if c := meta.FindStatusCondition(cr.Status.Conditions, typ); c == nil || c.Reason != reason {
				return fmt.Errorf("%s is not %s: %s", typ, reason, conditionsText(cr.Status.Conditions))
			}
		}
		return nil
	})
	if got := f.get().Status.Endpoint; got != "https://volume.example.org/" {
		t.Errorf("endpoint is %q", got)
	}
	f.awaitChild(&autoscalingv2.HorizontalPodAutoscaler{}, "cinder")
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Autoscaling = nil })
	f.awaitGone(&autoscalingv2.HorizontalPodAutoscaler{}, "cinder")
	f.awaitCondition(v1alpha1.ConditionHPAReady, metav1.ConditionTrue, v1alpha1.ReasonHPANotRequired)
}

func TestANameThatNoChildCanHaveIsRefusedBeforeAnythingIsCreated(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		strings.Repeat("c", 64): "64 characters",
		"block.storage":         "names a Service",
		"1st":                   "names a Service",
	} {
		t.Run(name, func(t *testing.T) {
			f := onHub(t)
			f.secrets()
			cr := sampleCinder(f.ns, "")
			cr.Name = name
			f.create(suite.hub, cr)
			f.eventually("the refusal", func(ctx context.Context) error {
				if err := suite.hub.Get(ctx, client.ObjectKeyFromObject(cr), cr); err != nil {
					return err
				}
				c := meta.FindStatusCondition(cr.Status.Conditions, v1alpha1.ConditionSecretsReady)
				if c == nil || c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonReconcileError {
					return fmt.Errorf("condition is %+v", c)
				}
				return contains(c.Message, says)
			})
			if children, err := f.ownedIn(t.Context(), suite.hub); err != nil || len(children) != 0 || len(cr.Finalizers) != 0 {
				t.Errorf("there are %d children (error %v) and finalizers %v", len(children), err, cr.Finalizers)
			}
		})
	}
}

func TestARotatedPasswordRollsTheWorkloads(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	const hash = "cinder.c5c3.io/db-connection-hash"
	var before appsv1.Deployment
	f.awaitChild(&before, "cinder-scheduler")
	f.setSecret("db", "password", "another")
	f.eventually("another digest in the pod template", func(context.Context) error {
		var after appsv1.Deployment
		f.awaitChild(&after, "cinder-scheduler")
		if was, is := before.Spec.Template.Annotations[hash], after.Spec.Template.Annotations[hash]; was == "" || was == is {
			return contains("digest", was, is, "changed")
		}
		return nil
	})
}

func TestAConfigurationThatCannotBeRenderedKeepsTheLastGoodOne(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	f.update(func(cr *v1alpha1.Cinder) {
		cr.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"my_ip": "10.0.0.1\ntransport_url = rabbit://evil"}}
	})
	if err := contains(f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonConfigError), "my_ip"); err != nil {
		t.Error(err)
	}
	// The pass went on, with the configuration that is live.
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Image.Tag = "2026.1-p2" })
	f.eventually("a db-sync Job of the new image", func(context.Context) error {
		var job batchv1.Job
		f.awaitChild(&job, "cinder-db-sync")
		return contains(job.Spec.Template.Spec.Containers[0].Image, "2026.1-p2")
	})
	f.update(func(cr *v1alpha1.Cinder) {
		cr.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"debug": "true"}}
	})
	f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
	f.awaitCondition(v1alpha1.ConditionExtraConfigHealthy, metav1.ConditionFalse, v1alpha1.ReasonOwnedKeysOverridden)
	if err := contains(f.awaitEvent("ExtraConfigOwnedKeyOverride"), "debug"); err != nil {
		t.Error(err)
	}
}

// update changes the spec of the test's Cinder.
func (f *fixture) update(change func(*v1alpha1.Cinder)) {
	f.Helper()
	f.eventually("update the Cinder", func(ctx context.Context) error {
		cr := f.get()
		change(cr)
		return f.hub.Update(ctx, cr)
	})
}
