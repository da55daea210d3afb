// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

// The common labels.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelManagedBy = "app.kubernetes.io/managed-by"

	// AppName and ManagedBy are the values every child carries.
	AppName   = "cinder"
	ManagedBy = "cinder-operator"
)

// Values of LabelComponent. A volume service's is VolumeComponent.
const (
	ComponentAPI       = "api"
	ComponentScheduler = "scheduler"
	ComponentBackup    = "backup"
	ComponentJob       = "job"
)

// VolumeComponent is the component of the service of one backend.
func VolumeComponent(backend string) string { return FitName(MaxName, "volume", backend) }

// Annotations of pods and Jobs.
const (
	// AnnotationDBConnectionHash, AnnotationAuthtokenHash and
	// AnnotationTransportURLHash carry digests of credentials: a process reads
	// them once, so that a change has to roll its pods.
	AnnotationDBConnectionHash = "cinder.c5c3.io/db-connection-hash"
	AnnotationAuthtokenHash    = "cinder.c5c3.io/authtoken-hash"
	AnnotationTransportURLHash = "cinder.c5c3.io/transport-url-hash"
	// AnnotationInstalledRelease rolls the bus processes once more after an
	// upgrade: each caches the RPC versions its peers announced when it started.
	AnnotationInstalledRelease = "cinder.c5c3.io/installed-release"

	// AnnotationJobHash is the digest of what a Job was rendered from.
	AnnotationJobHash = "cinder.c5c3.io/job-spec-hash"
	// AnnotationRerunKey is what makes an unchanged Job run anew.
	AnnotationRerunKey = "cinder.c5c3.io/rerun-key"
	// AnnotationBackendUID names the CinderBackend a service-remove Job is for.
	AnnotationBackendUID = "cinder.c5c3.io/backend-uid"
)

// InstanceLabels select every pod of a Cinder, those of its Jobs included.
func InstanceLabels(cinder string) map[string]string {
	return map[string]string{LabelName: AppName, LabelInstance: cinder}
}

// SelectorLabels select the pods of one component. A Deployment's selector
// cannot be changed, so nothing else may ever be added here.
func SelectorLabels(cinder, component string) map[string]string {
	return map[string]string{LabelName: AppName, LabelInstance: cinder, LabelComponent: component}
}

// Labels are the labels of a child and of its pods.
func Labels(cinder, component string) map[string]string {
	labels := SelectorLabels(cinder, component)
	labels[LabelManagedBy] = ManagedBy
	return labels
}

// CommonLabels are the labels of a child that belongs to no component.
func CommonLabels(cinder string) map[string]string {
	labels := InstanceLabels(cinder)
	labels[LabelManagedBy] = ManagedBy
	return labels
}
