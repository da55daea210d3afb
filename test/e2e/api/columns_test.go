// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestColumnsPrintWhatTheStatusSays(t *testing.T) {
	ctx := callContext(t)
	spec := minimalCinder()
	spec["targetClusterRef"] = map[string]any{"name": "edge-1"}
	stored := created(t, object(v1alpha1.KindCinder, "columns", spec))
	cinder := &v1alpha1.Cinder{}
	if err := hub.Get(ctx, client.ObjectKeyFromObject(stored), cinder); err != nil {
		t.Fatalf("get the Cinder: %v", err)
	}
	cinder.Status = v1alpha1.CinderStatus{
		Endpoint: "https://volume.example.org/", InstalledRelease: "2026.1", TargetRelease: "2026.2", UpgradePhase: v1alpha1.UpgradePhaseMigrating,
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotAllReady, Message: "DatabaseReady is False",
			LastTransitionTime: metav1.Now(), ObservedGeneration: cinder.Generation,
		}},
	}
	if err := hub.Status().Update(ctx, cinder); err != nil {
		t.Fatalf("update the Cinder's status: %v", err)
	}

	clientset, err := kubernetes.NewForConfig(hubConfig)
	if err != nil {
		t.Fatalf("build a client: %v", err)
	}
	raw, err := clientset.RESTClient().Get().
		AbsPath("/apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "namespaces", cinder.Namespace, "cinders", cinder.Name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		t.Fatalf("get the Cinder as a table: %v", err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(raw, table); err != nil {
		t.Fatalf("parse the table: %v", err)
	}

	var narrow, wide []any
	for i, definition := range table.ColumnDefinitions {
		switch cell := table.Rows[0].Cells[i]; {
		case definition.Name == "Age":
		case definition.Priority == 0:
			narrow = append(narrow, cell)
		default:
			wide = append(wide, cell)
		}
	}
	if want := []any{"columns", "False", "2026.1", "https://volume.example.org/", "edge-1"}; !slices.Equal(narrow, want) {
		t.Errorf("kubectl get prints %q, want %q", narrow, want)
	}
	if want := []any{"Migrating", "NotAllReady", "DatabaseReady is False"}; !slices.Equal(wide, want) {
		t.Errorf("kubectl get -o wide adds %q, want %q", wide, want)
	}
}
