// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/conf"
)

// kind is what differs between the two satellite kinds.
type kind struct {
	name string
	// detaches tells that the kind may carry the service-remove finalizer.
	detaches bool
	object   func() client.Object
	list     func() client.ObjectList
	items    func(client.ObjectList) []satellite
	read     func(client.Object) satellite
	// deployment names the Deployment whose pod template takes the projection.
	deployment func(cinder, name string) string
	// revisionBase names what the revisions of the projection are kept under.
	revisionBase func(cinder, name string) string
	// files renders the content of the projection.
	files func(cinder string, o client.Object, cephKey string) (map[string]string, error)
}

// satellite is one object of either kind: the object itself, what of its spec
// decides, and where its status is.
type satellite struct {
	client.Object

	cinder     string
	nfs        bool
	rbd        bool
	pool       *v1alpha1.RBDPoolSpec
	conditions *[]metav1.Condition
	observed   *int64
}

func backends() kind {
	read := func(o client.Object) satellite {
		b := o.(*v1alpha1.CinderBackend) //nolint:forcetypeassert // the kind's own object
		s := satellite{
			Object: b, cinder: b.Spec.CinderRef.Name,
			nfs:        b.Spec.Type == v1alpha1.CinderBackendTypeNFS,
			rbd:        b.Spec.Type == v1alpha1.CinderBackendTypeRBD,
			conditions: &b.Status.Conditions, observed: &b.Status.ObservedGeneration,
		}
		if b.Spec.RBD != nil {
			s.pool = &b.Spec.RBD.RBDPoolSpec
		}
		return s
	}
	return kind{
		name:     v1alpha1.KindCinderBackend,
		detaches: true,
		object:   func() client.Object { return &v1alpha1.CinderBackend{} },
		list:     func() client.ObjectList { return &v1alpha1.CinderBackendList{} },
		items: func(l client.ObjectList) []satellite {
			return each(l.(*v1alpha1.CinderBackendList).Items, func(b *v1alpha1.CinderBackend) satellite { return read(b) }) //nolint:forcetypeassert // the kind's own list
		},
		read:         read,
		deployment:   render.VolumeName,
		revisionBase: render.BackendBase,
		files: func(cinder string, o client.Object, cephKey string) (map[string]string, error) {
			return conf.Backend(cinder, o.(*v1alpha1.CinderBackend), cephKey) //nolint:forcetypeassert // the kind's own object
		},
	}
}

func backupBackends() kind {
	read := func(o client.Object) satellite {
		b := o.(*v1alpha1.CinderBackupBackend) //nolint:forcetypeassert // the kind's own object
		s := satellite{
			Object: b, cinder: b.Spec.CinderRef.Name,
			nfs:        b.Spec.Type == v1alpha1.CinderBackupBackendTypeNFS,
			rbd:        b.Spec.Type == v1alpha1.CinderBackupBackendTypeRBD,
			conditions: &b.Status.Conditions, observed: &b.Status.ObservedGeneration,
		}
		if b.Spec.RBD != nil {
			s.pool = &b.Spec.RBD.RBDPoolSpec
		}
		return s
	}
	return kind{
		name:   v1alpha1.KindCinderBackupBackend,
		object: func() client.Object { return &v1alpha1.CinderBackupBackend{} },
		list:   func() client.ObjectList { return &v1alpha1.CinderBackupBackendList{} },
		items: func(l client.ObjectList) []satellite {
			return each(l.(*v1alpha1.CinderBackupBackendList).Items, func(b *v1alpha1.CinderBackupBackend) satellite { return read(b) }) //nolint:forcetypeassert // the kind's own list
		},
		read:         read,
		deployment:   func(cinder, _ string) string { return render.BackupName(cinder) },
		revisionBase: render.BackupBase,
		files: func(cinder string, o client.Object, cephKey string) (map[string]string, error) {
			return conf.Backup(cinder, o.(*v1alpha1.CinderBackupBackend), cephKey) //nolint:forcetypeassert // the kind's own object
		},
	}
}

func each[T any](items []T, f func(*T) satellite) []satellite {
	out := make([]satellite, 0, len(items))
	for i := range items {
		out = append(out, f(&items[i]))
	}
	return out
}
