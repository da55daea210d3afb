// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// failing is an API server that cannot be asked.
type failing struct{ client.Reader }

var errAsked = errors.New("the API server is not there")

func (failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errAsked
}

func (failing) List(context.Context, client.ObjectList, ...client.ListOption) error { return errAsked }

func TestWhatCannotBeLookedUpIsNeitherValidNorInvalid(t *testing.T) {
	namespace := "ns"
	prioritized := newCinder(namespace)
	prioritized.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{PriorityClassName: "high"}}
	cached := newBackend(namespace, "nfs-a")
	cached.Spec.ImageVolumeCache = &v1alpha1.ImageVolumeCacheSpec{Enabled: true}
	backup := newBackupBackend(namespace, "backup")
	_, err := validator[*v1alpha1.Cinder]{"Cinder", cinder(failing{})}.ValidateCreate(t.Context(), prioritized)
	if !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a priority class: %v, want an answer that has the caller ask again", err)
	}
	backups := validator[*v1alpha1.CinderBackupBackend]{"CinderBackupBackend", cinderBackupBackend(failing{})}
	_, created := backups.ValidateCreate(t.Context(), backup)
	_, updated := backups.ValidateUpdate(t.Context(), backup.DeepCopy(), backup)
	if !apierrors.IsServiceUnavailable(created) || !apierrors.IsServiceUnavailable(updated) {
		t.Errorf("the siblings of a backup target: %v and %v, want an answer that has the caller ask again", created, updated)
	}
	// Its Cinder decides about a warning alone.
	if warnings, err := (validator[*v1alpha1.CinderBackend]{"CinderBackend", cinderBackend(failing{})}).ValidateCreate(t.Context(), cached); err != nil || len(warnings) > 0 {
		t.Errorf("the Cinder of a backend: %v, %q", err, warnings)
	}
}
