// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"c5c3.io/cinder-operator/api/catalog"
	"c5c3.io/cinder-operator/api/v1alpha1"
)

// How long the name of a backend may be, and its name together with its Cinder's, in characters: what is left in the names
// of its children.
const (
	MaxBackendName          = 35
	MaxBackendAndCinderName = 47
)

// CinderBackendFacts is what the rules of a CinderBackend know beside it.
type CinderBackendFacts struct {
	// Parent is the Cinder that spec.cinderRef names, nil when it does not exist or was not asked for.
	Parent *v1alpha1.Cinder
}

// ValidateCinderBackend judges a backend that is created, with old nil, or updated.
func ValidateCinderBackend(obj, old *v1alpha1.CinderBackend, facts CinderBackendFacts) (warnings []string, errs field.ErrorList) {
	if old != nil && alwaysPasses(obj, old, obj.Spec, old.Spec) {
		return nil, nil
	}
	c, spec, path := &check{}, &obj.Spec, field.NewPath("spec")
	c.backendName(obj, old == nil)
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
		c.optional(path.Child("rbd", "secretUUID"), spec.RBD.SecretUUID, 0, patternUUID)
	}
	if cache := spec.ImageVolumeCache; cache != nil {
		at := path.Child("imageVolumeCache")
		atLeast(c, at.Child("maxSizeGB"), cache.MaxSizeGB, 1)
		atLeast(c, at.Child("maxCount"), cache.MaxCount, 1)
	}
	if AsksForParent(obj, old) && facts.Parent != nil && facts.Parent.Spec.InternalTenant == nil {
		c.warn("spec.imageVolumeCache is enabled, but Cinder %q has no spec.internalTenant: the volumes of the cache would belong to nobody, so nothing is cached", spec.CinderRef.Name)
	}
	c.extraOptions(path.Child("extraOptions"), spec.ExtraOptions, spec.Type.DeniedExtraOptions())
	return c.warnings, c.errs
}

// AsksForParent tells whether the Cinder of the backend decides about the request.
func AsksForParent(obj, old *v1alpha1.CinderBackend) bool {
	cache := obj.Spec.ImageVolumeCache
	if cache == nil || !cache.Enabled {
		return false
	}
	return old == nil || !reflect.DeepEqual(cache, old.Spec.ImageVolumeCache)
}

// backendName judges the name, which becomes a section of the configuration and a part of the service's host name, where
// @ and # are separators.
func (c *check) backendName(obj *v1alpha1.CinderBackend, create bool) {
	path, name := field.NewPath("metadata", "name"), obj.Name
	switch {
	case strings.EqualFold(name, catalog.DefaultSection):
		c.invalid(path, name, "name must not be \"default\": the section would be [DEFAULT]")
	case catalog.IsSection(name) && create:
		c.invalid(path, name, "name must not be that of a section of cinder.conf")
	case catalog.IsSection(name):
		// The catalog that let it in was another one, and a name cannot be changed.
		c.warn("%s: %q is the name of a section of cinder.conf: attach this storage under another name and detach this one", path, name)
	}
	if strings.ContainsAny(name, "@#") {
		c.invalid(path, name, "name must not contain @ or #")
	}
	if !create || name == "" {
		return
	}
	for _, message := range validation.IsDNS1123Label(name) {
		c.invalid(path, name, "%s", message)
	}
	if len(name) > MaxBackendName {
		c.invalid(path, name, "name must be at most %d characters", MaxBackendName)
	}
	if len(name)+len(obj.Spec.CinderRef.Name) > MaxBackendAndCinderName {
		c.invalid(path, name, "name and cinderRef.name must together be at most %d characters", MaxBackendAndCinderName)
	}
}
