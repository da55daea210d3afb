// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Between the Secret of a satellite and its Deployment lies the migration. A
// cluster that is lost meanwhile makes the satellites' credentials unknown, and
// nothing that is unknown is taken away.
func TestTheSecretsOfSatellitesOutliveAnOutageDuringTheInstall(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	backend, backup := f.backend("nfs-a"), f.backupBackend("nfs-b")
	prefixes := []string{"cinder-backend-nfs-a-", "cinder-backup-nfs-b-"}
	before := map[string]types.UID{}
	f.eventually("the satellites' Secrets", func(ctx context.Context) (err error) {
		before, err = f.satelliteSecrets(ctx, prefixes)
		return err
	})

	f.sayCredentials(backend, &backend.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	f.sayCredentials(backup, &backup.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	f.awaitCondition(v1alpha1.ConditionBackendsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackends)
	f.awaitCondition(v1alpha1.ConditionBackupBackendReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackupBackend)
	after, err := f.satelliteSecrets(t.Context(), prefixes)
	if err != nil {
		t.Fatal(err)
	}
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("Secret %s had the UID %s, now %s", name, uid, after[name])
		}
	}
}

// satelliteSecrets are the Secrets whose names begin so, one for each prefix.
func (f *fixture) satelliteSecrets(ctx context.Context, prefixes []string) (map[string]types.UID, error) {
	var list corev1.SecretList
	if err := f.children.List(ctx, &list, client.InNamespace(f.ns)); err != nil {
		return nil, err
	}
	out := map[string]types.UID{}
	for _, prefix := range prefixes {
		n := len(out)
		for i := range list.Items {
			if strings.HasPrefix(list.Items[i].Name, prefix) {
				out[list.Items[i].Name] = list.Items[i].UID
			}
		}
		if len(out) != n+1 {
			return nil, fmt.Errorf("%d Secrets %s*", len(out)-n, prefix)
		}
	}
	return out, nil
}

// An error that ended a step is no answer that could stand while the credentials
// of a satellite are not known.
func TestAnErrorDoesNotStandWhileCredentialsAreUnknown(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	backend, backup := f.backend("nfs-a"), f.backupBackend("nfs-b")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()
	f.sayCredentials(backend, &backend.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	f.sayCredentials(backup, &backup.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	f.passes()
	f.awaitCondition(v1alpha1.ConditionBackendsReady, metav1.ConditionTrue, v1alpha1.ReasonAllBackendsProjected)
	f.awaitCondition(v1alpha1.ConditionBackupBackendReady, metav1.ConditionTrue, v1alpha1.ReasonBackupBackendProjected)

	f.eventually("write what a pass that failed left", func(ctx context.Context) error {
		cr := f.get()
		for _, typ := range []string{v1alpha1.ConditionBackendsReady, v1alpha1.ConditionBackupBackendReady} {
			meta.SetStatusCondition(&cr.Status.Conditions, metav1.Condition{
				Type: typ, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonReconcileError, Message: "by the test", ObservedGeneration: cr.Generation,
			})
		}
		return f.hub.Status().Update(ctx, cr)
	})
	f.awaitCondition(v1alpha1.ConditionBackendsReady, metav1.ConditionTrue, v1alpha1.ReasonAllBackendsProjected)
	f.awaitSays(v1alpha1.ConditionBackupBackendReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackupBackend, "nfs-b")
}
