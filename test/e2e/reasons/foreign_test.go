// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

var foreignCases = []testCase{{"foreign", hub, (*fixture).inTheWay}}

func clientKey(obj client.Object) client.ObjectKey { return client.ObjectKeyFromObject(obj) }

// inTheWay are objects of somebody else that have the names of children: each
// stops the step that needs the name, until it goes.
func (f *fixture) inTheWay() {
	type m = map[string]any
	labels := m{"app": "other"}
	pod := m{"metadata": m{"labels": labels}, "spec": m{"restartPolicy": "Never", "containers": []any{m{"name": "other", "image": "registry.example.org/other:1"}}}}
	running := m{"metadata": m{"labels": labels}, "spec": m{"containers": []any{m{"name": "other", "image": "registry.example.org/other:1"}}}}
	job := m{"suspend": true, "template": pod}
	deployment := m{"spec": m{"replicas": int64(0), "selector": m{"matchLabels": labels}, "template": running}}
	ref := m{"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}

	type stop struct {
		obj client.Object
		typ string
	}
	var stops []stop
	for _, o := range []struct {
		typ, kind, version, name string
		content                  m
	}{
		{v1alpha1.ConditionSecretsReady, "Secret", "v1", "cinder-db-connection", m{}},
		{v1alpha1.ConditionDatabaseReady, "Job", "batch/v1", "cinder-db-sync", m{"spec": job}},
		{v1alpha1.ConditionSchedulerReady, "Deployment", "apps/v1", "cinder-scheduler", deployment},
		{v1alpha1.ConditionVolumeServicesReady, "Deployment", "apps/v1", "cinder-volume-nfs", deployment},
		{v1alpha1.ConditionBackupServiceReady, "Deployment", "apps/v1", "cinder-backup", deployment},
		{v1alpha1.ConditionDeploymentReady, "Service", "v1", "cinder", m{"spec": m{"selector": labels, "ports": []any{m{"port": int64(80)}}}}},
		{v1alpha1.ConditionDBPurgeReady, "CronJob", "batch/v1", "cinder-db-purge", m{"spec": m{"schedule": "@yearly", "suspend": true, "jobTemplate": m{"spec": m{"template": pod}}}}},
		{v1alpha1.ConditionHTTPRouteReady, "HTTPRoute", routeVersion, "cinder", m{"spec": m{}}},
		{v1alpha1.ConditionHPAReady, "HorizontalPodAutoscaler", "autoscaling/v2", "cinder", m{"spec": m{"maxReplicas": int64(2), "scaleTargetRef": ref}}},
		{v1alpha1.ConditionNetworkPolicyReady, "NetworkPolicy", "networking.k8s.io/v1", "cinder", m{"spec": m{"podSelector": m{"matchLabels": labels}}}},
	} {
		stops = append(stops, stop{f.foreign(o.kind, o.version, o.name, o.content), o.typ})
	}

	f.serviceUser()
	f.create(withKeystone, withGateway, withHPA, withNetworkPolicy)
	lab.Hub.Create(f, harness.Backend(f.cinder, "nfs"))
	lab.Hub.Create(f, harness.BackupBackend(f.cinder, "backups"))
	for _, stop := range stops {
		f.says(open(stop.typ, v1alpha1.ReasonReconcileError))
		f.remove(stop.obj)
		f.poke()
	}
	f.says(is(v1alpha1.ConditionHPAReady, v1alpha1.ReasonHPAReady), is(v1alpha1.ConditionNetworkPolicyReady, v1alpha1.ReasonNetworkPolicyReady))
}
