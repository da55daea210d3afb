// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// identity is the user and the group of the Cinder image.
const identity int64 = 42424

// podSecurity and containerSecurity pass the Pod Security Standard
// `restricted`.
func podSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		RunAsUser:      ptr.To(identity),
		RunAsGroup:     ptr.To(identity),
		FSGroup:        ptr.To(identity),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		ReadOnlyRootFilesystem:   ptr.To(true),
		RunAsNonRoot:             ptr.To(true),
	}
}

// finishContainer fills in what every container of a Cinder has.
func finishContainer(c *v1alpha1.Cinder, f render.Facts, container *corev1.Container) {
	container.Image = c.Spec.Image.Reference()
	container.ImagePullPolicy = pullPolicy(c, f)
	container.SecurityContext = containerSecurity()
}

func pullPolicy(c *v1alpha1.Cinder, f render.Facts) corev1.PullPolicy {
	switch {
	case f.PullPolicy != "":
		return f.PullPolicy
	case c.Spec.Image.Digest != "":
		return corev1.PullIfNotPresent
	}
	// A tag may be pushed again.
	return corev1.PullAlways
}
