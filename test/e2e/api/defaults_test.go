// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const sampleDirectory = "../../../config/samples"

// object returns an object of a kind of this API.
func object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	out.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	out.SetNamespace("default")
	out.SetName(name)
	return out
}

// created creates an object, deletes it when the test ends, and returns it as the API server answered it.
func created(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	ctx := callContext(t)
	if err := hub.Create(ctx, object, client.FieldValidation("Strict")); err != nil {
		t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout) // the test's own context has ended by now
		defer cancel()
		if err := hub.Delete(ctx, object); err != nil {
			t.Errorf("delete %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	})
	return object
}

func minimalCinder() map[string]any {
	return map[string]any{
		"openStackRelease": "2026.1",
		"image":            map[string]any{"repository": "registry.example.org/openstack/cinder", "tag": "2026.1"},
		"database":         map[string]any{"host": "mariadb", "database": "cinder", "secretRef": map[string]any{"name": "cinder-db"}},
		"cache":            map[string]any{"servers": []any{"memcached:11211"}},
		"messaging":        map[string]any{"secretRef": map[string]any{"name": "cinder-bus"}},
	}
}

func TestDefaultsOfTheSchemaLandInTheStoredObject(t *testing.T) {
	withBlocks := minimalCinder()
	withBlocks["api"] = map[string]any{"uwsgi": map[string]any{}}
	withBlocks["secretStoreRef"] = map[string]any{"name": "vault"}
	nfs := map[string]any{"cinderRef": map[string]any{"name": "cinder"}, "type": "NFS", "nfs": map[string]any{"server": "nfs", "path": "/a"}}
	rbd := map[string]any{"cinderRef": map[string]any{"name": "cinder"}, "type": "RBD", "rbd": map[string]any{
		"pool": "volumes", "user": "cinder", "monitors": []any{"mon"}, "networks": []any{"10.0.0.0/8"}, "keySecretRef": map[string]any{"name": "key"},
	}}

	for _, test := range []struct {
		name string
		kind string
		spec map[string]any
		want map[string]any // by path, joined with dots
	}{
		{"a Cinder's database and cache", v1alpha1.KindCinder, minimalCinder(), map[string]any{
			"database.replicas": int64(3), "database.storageSize": "100Gi", "cache.replicas": int64(3), "cache.backend": v1alpha1.DefaultCacheBackend,
		}},
		{"an empty uwsgi block and a store without a kind", v1alpha1.KindCinder, withBlocks, map[string]any{
			"api.uwsgi.processes": int64(v1alpha1.DefaultUWSGIProcesses), "api.uwsgi.threads": int64(v1alpha1.DefaultUWSGIThreads),
			"api.uwsgi.httpKeepAlive": true, "secretStoreRef.kind": string(v1alpha1.SecretStoreKindCluster),
			"database.replicas": int64(3), "database.storageSize": "100Gi", "cache.replicas": int64(3), "cache.backend": v1alpha1.DefaultCacheBackend,
		}},
		{"an NFS backend", v1alpha1.KindCinderBackend, nfs, map[string]any{"nfs.mountOptions": v1alpha1.DefaultNFSMountOptions}},
		{"an RBD backend", v1alpha1.KindCinderBackend, rbd, map[string]any{"rbd.clusterName": v1alpha1.DefaultCephClusterName}},
		{"an NFS backup target", v1alpha1.KindCinderBackupBackend, nfs, map[string]any{
			"nfs.mountOptions": v1alpha1.DefaultNFSMountOptions, "fileSize": v1alpha1.DefaultBackupFileSize, "compression": string(v1alpha1.DefaultBackupCompression),
		}},
		{"an RBD backup target", v1alpha1.KindCinderBackupBackend, rbd, map[string]any{
			"rbd.clusterName": v1alpha1.DefaultCephClusterName, "fileSize": v1alpha1.DefaultBackupFileSize, "compression": string(v1alpha1.DefaultBackupCompression),
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := object(test.kind, "defaults", test.spec)
			given := flatten(in.DeepCopy().Object["spec"].(map[string]any), "")
			got := flatten(created(t, in).Object["spec"].(map[string]any), "")
			for path := range given {
				delete(got, path)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("the API server filled in\n%v\nwant\n%v", got, test.want)
			}
		})
	}
}

// flatten returns the leaves of an object by their path. A list, and an empty object, is a leaf.
func flatten(in map[string]any, prefix string) map[string]any {
	out := map[string]any{}
	for name, value := range in {
		if nested, ok := value.(map[string]any); ok && len(nested) > 0 {
			for path, leaf := range flatten(nested, join(prefix, name)) {
				out[path] = leaf
			}
			continue
		}
		out[join(prefix, name)] = value
	}
	return out
}

func TestUnsetReplicasStayUnset(t *testing.T) {
	spec := minimalCinder()
	for _, service := range []string{"api", "scheduler", "volume", "backup"} {
		spec[service] = map[string]any{"deployment": map[string]any{}}
	}
	stored := created(t, object(v1alpha1.KindCinder, "replicas", spec))
	for _, service := range []string{"api", "scheduler", "volume", "backup"} {
		deployment, found, err := unstructured.NestedMap(stored.Object, "spec", service, "deployment")
		if err != nil || !found || len(deployment) != 0 {
			t.Errorf("spec.%s.deployment is stored as %v (%v), want an empty block", service, deployment, err)
		}
	}
}

func TestAnEmptySchedulingFieldSurvivesAWriteByTheOperator(t *testing.T) {
	spec := minimalCinder()
	spec["jobs"] = map[string]any{"priorityClassName": "", "nodeSelector": map[string]any{}, "tolerations": []any{}, "affinity": map[string]any{}}
	stored := created(t, object(v1alpha1.KindCinder, "opt-out", spec))

	ctx := callContext(t)
	cinder := &v1alpha1.Cinder{}
	if err := hub.Get(ctx, client.ObjectKeyFromObject(stored), cinder); err != nil {
		t.Fatalf("get the Cinder: %v", err)
	}
	cinder.Labels = map[string]string{"example.org/touched": "true"}
	if err := hub.Update(ctx, cinder); err != nil {
		t.Fatalf("update the Cinder: %v", err)
	}
	after := object(v1alpha1.KindCinder, stored.GetName(), nil)
	if err := hub.Get(ctx, client.ObjectKeyFromObject(stored), after); err != nil {
		t.Fatalf("get the Cinder: %v", err)
	}
	got, _, err := unstructured.NestedMap(after.Object, "spec", "jobs")
	if err != nil || !reflect.DeepEqual(got, spec["jobs"]) {
		t.Errorf("after a write by typed client spec.jobs is %v (%v), want %v", got, err, spec["jobs"])
	}
}

func TestSamplesAreAccepted(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sampleDirectory, "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("list the samples in %s: %v, %d found", sampleDirectory, err, len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("read the sample: %v", err)
			}
			sample := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict(raw, &sample.Object); err != nil {
				t.Fatalf("parse the sample: %v", err)
			}
			sample.SetNamespace("default") // the samples' namespace does not exist here
			created(t, sample)
		})
	}
}
