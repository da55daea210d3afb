// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/projection"
)

// sqlKinds are what is projected for a managed database, in the order in which
// it is taken down: what refers to another goes first.
var sqlKinds = []schema.GroupVersionKind{projection.MariaDBGrant, projection.MariaDBUser, projection.MariaDBDatabase}

// provisionDatabase makes the database, its user and its grant on a managed
// MariaDB. A brownfield database is none of its business. A result that is not
// zero ends the pass.
func (r *Reconciler) provisionDatabase(ctx context.Context, p *Pass) (ctrl.Result, error) {
	spec := &p.Cinder.Spec.Database
	if !spec.Managed() {
		return ctrl.Result{}, nil
	}
	typ, wait := v1alpha1.ConditionDatabaseReady, ctrl.Result{RequeueAfter: r.Intervals.DatabaseWait}
	server, message, err := reference(ctx, p, mariaDBKind, types.NamespacedName{Namespace: p.Cinder.Namespace, Name: spec.ClusterRef.Name})
	if err != nil {
		return ctrl.Result{}, err
	}
	if message == "" {
		if ready, why := readiness(server); !ready {
			message = fmt.Sprintf("MariaDB %s/%s on %s is not ready: %s", p.Cinder.Namespace, spec.ClusterRef.Name, p.Target, why)
		}
	}
	if message != "" {
		p.setFalse(typ, v1alpha1.ReasonClusterNotReady, "%s", message)
		return wait, nil
	}
	waiting, err := r.applySQL(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(waiting) > 0 {
		p.setFalse(typ, v1alpha1.ReasonWaitingForDatabase, "%s", strings.Join(waiting, "; "))
		return wait, nil
	}
	return ctrl.Result{}, nil
}

// applySQL projects the SQL objects and says which of them are not ready.
func (r *Reconciler) applySQL(ctx context.Context, p *Pass) (waiting []string, err error) {
	intents := []*unstructured.Unstructured{databaseIntent(p.Cinder)}
	if p.Cinder.Spec.Database.EffectiveCredentialsMode() == v1alpha1.CredentialsModeDynamic {
		// Something else makes the users: those of before would keep their rights.
		for _, gvk := range []schema.GroupVersionKind{projection.MariaDBGrant, projection.MariaDBUser} {
			if err := remove(ctx, p, sqlObject(p.Cinder, gvk)); err != nil {
				return nil, err
			}
		}
	} else {
		services, err := volumeServices(ctx, p)
		if err != nil {
			return nil, err
		}
		intents = append(intents, userIntent(p.Cinder, services), grantIntent(p.Cinder))
	}
	for _, intent := range intents {
		live, err := apply(ctx, p, intent)
		if err != nil {
			return nil, err
		}
		if ready, why := readiness(live); !ready {
			waiting = append(waiting, fmt.Sprintf("%s %s/%s on %s is not ready: %s", intent.GetKind(), p.Cinder.Namespace, intent.GetName(), p.Target, why))
		}
	}
	return waiting, nil
}

// volumeServices counts the volume services that may hold connections: those
// that are to run, and those that still do.
func volumeServices(ctx context.Context, p *Pass) (int, error) {
	var live appsv1.DeploymentList
	if err := p.Scope.List(ctx, &live, nil); err != nil {
		return 0, err
	}
	names := map[string]bool{}
	for _, b := range p.Facts.Backends {
		names[render.VolumeName(p.Cinder.Name, b.Name)] = true
	}
	for i := range live.Items {
		if strings.HasPrefix(live.Items[i].Labels[render.LabelComponent], "volume-") {
			names[live.Items[i].Name] = true
		}
	}
	return len(names), nil
}

func sqlObject(cr *v1alpha1.Cinder, gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(cr.Namespace)
	u.SetName(cr.Name)
	return u
}

func sqlIntent(cr *v1alpha1.Cinder, gvk schema.GroupVersionKind, spec map[string]any) *unstructured.Unstructured {
	u := sqlObject(cr, gvk)
	u.SetLabels(render.CommonLabels(cr.Name))
	spec["mariaDbRef"] = map[string]any{"name": cr.Spec.Database.ClusterRef.Name}
	u.Object["spec"] = spec
	return u
}

func databaseIntent(cr *v1alpha1.Cinder) *unstructured.Unstructured {
	return sqlIntent(cr, projection.MariaDBDatabase, map[string]any{"name": cr.Spec.Database.Database})
}

// userIntent is the account of the services. PyMySQL falls back to plain text
// where the server offers no TLS, so it is the account that insists on it.
func userIntent(cr *v1alpha1.Cinder, services int) *unstructured.Unstructured {
	ref := cr.Spec.Database.SecretRef
	spec := map[string]any{
		"name":                 cr.Name,
		"host":                 "%",
		"passwordSecretKeyRef": map[string]any{"name": ref.Name, "key": ref.EffectiveKey(keyPassword)},
		"maxUserConnections":   int64(render.MaxUserConnections(cr, services)),
	}
	if cr.Spec.Database.TLS.Enabled() {
		spec["require"] = map[string]any{"ssl": true}
	}
	return sqlIntent(cr, projection.MariaDBUser, spec)
}

func grantIntent(cr *v1alpha1.Cinder) *unstructured.Unstructured {
	return sqlIntent(cr, projection.MariaDBGrant, map[string]any{
		"privileges": []any{"ALL PRIVILEGES"},
		"database":   cr.Spec.Database.Database,
		"table":      "*",
		"username":   cr.Name,
		"host":       "%",
	})
}

// finalizeDatabase deletes the SQL objects of a deleted Cinder by name, one after
// the other: mariadb-operator's finalizers need what the later ones describe. It
// names what is still there. It runs whatever the spec now says, since an earlier
// one may have been managed. When the children were given up it waits for none of
// them before it deletes the next.
func (r *Reconciler) finalizeDatabase(ctx context.Context, p *Pass) (left []string, err error) {
	served, err := p.Target.Serves(projection.MariaDBDatabase)
	if err != nil {
		return nil, fmt.Errorf("ask whether %s serves %s: %w", p.Target, projection.MariaDBDatabase.Kind, err)
	}
	if !served {
		return nil, nil
	}
	scope, err := r.Projector.Scope(p.Target, p.Cinder)
	if err != nil {
		return nil, err
	}
	there, err := anyOf(ctx, scope, p.Cinder)
	if err != nil {
		return nil, err
	}
	message := fmt.Sprintf("deletion waits until the MariaDB Grant, User and Database %s/%s are gone from %s, or ends without them once the Cinder is annotated with %s=true",
		p.Cinder.Namespace, p.Cinder.Name, p.Target, v1alpha1.AnnotationAbandonChildren)
	if was := meta.FindStatusCondition(p.stored, v1alpha1.ConditionDatabaseReady); there && (was == nil || was.Message != message) {
		p.normal(EventFinalizingDatabase, "deleting the MariaDB Grant, User and Database "+p.Cinder.Name)
	}
	for _, gvk := range sqlKinds {
		gone, err := scope.Delete(ctx, sqlObject(p.Cinder, gvk), metav1.DeletePropagationBackground)
		if err != nil {
			return nil, err
		}
		if gone {
			continue
		}
		left = append(left, gvk.Kind+" "+p.Cinder.Name)
		p.setFalse(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonWaitingForDatabase, "%s", message)
		if !givenUp(p.Cinder) {
			break
		}
	}
	return left, nil
}

// anyOf tells whether a SQL object of the Cinder is known to be there.
func anyOf(ctx context.Context, scope *projection.Scope, cr *v1alpha1.Cinder) (bool, error) {
	for _, gvk := range sqlKinds {
		err := scope.Get(ctx, cr.Name, sqlObject(cr, gvk))
		if err == nil {
			return true, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
	}
	return false, nil
}
