// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const (
	minFileSize int64 = 1 << 20
	// backup_sha_block_size_bytes: the driver refuses a chunk that it does not divide.
	fileSizeUnit int64 = 32768
)

// CinderBackupBackendFacts is what the rules of a CinderBackupBackend know beside it.
type CinderBackupBackendFacts struct {
	// Siblings are the backup targets of the namespace, the judged one included if it exists.
	Siblings []v1alpha1.CinderBackupBackend
}

// ValidateCinderBackupBackend judges a backup target that is created, with old nil, or updated.
func ValidateCinderBackupBackend(obj, old *v1alpha1.CinderBackupBackend, facts CinderBackupBackendFacts) (warnings []string, errs field.ErrorList) {
	if old != nil && alwaysPasses(obj, old, obj.Spec, old.Spec) {
		return nil, nil
	}
	c, spec, path := &check{}, &obj.Spec, field.NewPath("spec")
	var before *v1alpha1.CinderRefSpec
	if old != nil {
		before = &old.Spec.CinderRef
	}
	c.cinderRef(path, spec.CinderRef, before)
	driver(c, path, spec.Type, spec.NFS != nil, spec.RBD != nil)
	if old != nil && old.Spec.Type != spec.Type {
		c.invalid(path.Child("type"), spec.Type, "type is immutable")
	}
	if spec.NFS != nil {
		c.nfs(path.Child("nfs"), spec.NFS.NFSExportSpec)
	}
	if spec.RBD != nil {
		c.rbd(path.Child("rbd"), spec.RBD.RBDPoolSpec)
	}
	atLeast(c, path.Child("fileSize"), spec.FileSize, minFileSize)
	if spec.FileSize != nil && *spec.FileSize%fileSizeUnit != 0 {
		c.invalid(path.Child("fileSize"), *spec.FileSize, "should be a multiple of %d", fileSizeUnit)
	}
	enum(c, path.Child("compression"), spec.Compression, false, v1alpha1.BackupCompressionNone, v1alpha1.BackupCompressionZlib,
		v1alpha1.BackupCompressionBz2, v1alpha1.BackupCompressionZstd)
	c.extraOptions(path.Child("extraOptions"), spec.ExtraOptions, spec.Type.DeniedExtraOptions())
	c.onlyOne(path.Child("cinderRef", "name"), obj, facts.Siblings)
	return c.warnings, c.errs
}

// AsksForSiblings tells whether the other backup targets of the namespace decide about the request.
func AsksForSiblings(obj, old *v1alpha1.CinderBackupBackend) bool {
	return old == nil || !alwaysPasses(obj, old, obj.Spec, old.Spec)
}

func (c *check) onlyOne(path *field.Path, obj *v1alpha1.CinderBackupBackend, siblings []v1alpha1.CinderBackupBackend) {
	for i := range siblings {
		s := &siblings[i]
		if s.Spec.CinderRef.Name != obj.Spec.CinderRef.Name || s.Name == obj.Name || s.DeletionTimestamp != nil {
			continue
		}
		c.invalid(path, obj.Spec.CinderRef.Name, "Cinder %q already has CinderBackupBackend %q: at most one may be attached", obj.Spec.CinderRef.Name, s.Name)
	}
}
