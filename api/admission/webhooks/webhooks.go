// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"c5c3.io/cinder-operator/api/admission"
	"c5c3.io/cinder-operator/api/v1alpha1"
)

// +kubebuilder:webhook:path=/mutate-cinder-openstack-c5c3-io-v1alpha1-cinder,mutating=true,name=default-cinder.cinder.openstack.c5c3.io,resources=cinders,matchPolicy=Equivalent,sideEffects=None,failurePolicy=fail,timeoutSeconds=10,admissionReviewVersions=v1,serviceName=cinder-operator-webhook,serviceNamespace=c5c3-system,groups=cinder.openstack.c5c3.io,versions=v1alpha1,verbs=create;update,patch=`{"matchConditions":[{"name":"not-the-operator","expression":"request.userInfo.username != 'system:serviceaccount:c5c3-system:cinder-operator'"},{"name":"not-being-deleted","expression":"!has(object.metadata.deletionTimestamp)"}]}`
// +kubebuilder:webhook:path=/mutate-cinder-openstack-c5c3-io-v1alpha1-cinderbackend,mutating=true,name=default-cinderbackend.cinder.openstack.c5c3.io,resources=cinderbackends,matchPolicy=Equivalent,sideEffects=None,failurePolicy=fail,timeoutSeconds=10,admissionReviewVersions=v1,serviceName=cinder-operator-webhook,serviceNamespace=c5c3-system,groups=cinder.openstack.c5c3.io,versions=v1alpha1,verbs=create;update,patch=`{"matchConditions":[{"name":"not-the-operator","expression":"request.userInfo.username != 'system:serviceaccount:c5c3-system:cinder-operator'"},{"name":"not-being-deleted","expression":"!has(object.metadata.deletionTimestamp)"}]}`
// +kubebuilder:webhook:path=/mutate-cinder-openstack-c5c3-io-v1alpha1-cinderbackupbackend,mutating=true,name=default-cinderbackupbackend.cinder.openstack.c5c3.io,resources=cinderbackupbackends,matchPolicy=Equivalent,sideEffects=None,failurePolicy=fail,timeoutSeconds=10,admissionReviewVersions=v1,serviceName=cinder-operator-webhook,serviceNamespace=c5c3-system,groups=cinder.openstack.c5c3.io,versions=v1alpha1,verbs=create;update,patch=`{"matchConditions":[{"name":"not-the-operator","expression":"request.userInfo.username != 'system:serviceaccount:c5c3-system:cinder-operator'"},{"name":"not-being-deleted","expression":"!has(object.metadata.deletionTimestamp)"}]}`
// +kubebuilder:webhook:path=/validate-cinder-openstack-c5c3-io-v1alpha1-cinder,mutating=false,name=validate-cinder.cinder.openstack.c5c3.io,resources=cinders,matchPolicy=Equivalent,sideEffects=None,failurePolicy=fail,timeoutSeconds=10,admissionReviewVersions=v1,serviceName=cinder-operator-webhook,serviceNamespace=c5c3-system,groups=cinder.openstack.c5c3.io,versions=v1alpha1,verbs=create;update,patch=`{"matchConditions":[{"name":"not-the-operator","expression":"request.userInfo.username != 'system:serviceaccount:c5c3-system:cinder-operator'"},{"name":"not-being-deleted","expression":"!has(object.metadata.deletionTimestamp)"}]}`
// +kubebuilder:webhook:path=/validate-cinder-openstack-c5c3-io-v1alpha1-cinderbackend,mutating=false,name=validate-cinderbackend.cinder.openstack.c5c3.io,resources=cinderbackends,matchPolicy=Equivalent,sideEffects=None,failurePolicy=fail,timeoutSeconds=10,admissionReviewVersions=v1,serviceName=cinder-operator-webhook,serviceNamespace=c5c3-system,groups=cinder.openstack.c5c3.io,versions=v1alpha1,verbs=create;update,patch=`{"matchConditions":[{"name":"not-the-operator","expression":"request.userInfo.username != 'system:serviceaccount:c5c3-system:cinder-operator'"},{"name":"not-being-deleted","expression":"!has(object.metadata.deletionTimestamp)"}]}`
// +kubebuilder:webhook:path=/validate-cinder-openstack-c5c3-io-v1alpha1-cinderbackupbackend,mutating=false,name=validate-cinderbackupbackend.cinder.openstack.c5c3.io,resources=cinderbackupbackends,matchPolicy=Equivalent,sideEffects=None,failurePolicy=fail,timeoutSeconds=10,admissionReviewVersions=v1,serviceName=cinder-operator-webhook,serviceNamespace=c5c3-system,groups=cinder.openstack.c5c3.io,versions=v1alpha1,verbs=create;update,patch=`{"matchConditions":[{"name":"not-the-operator","expression":"request.userInfo.username != 'system:serviceaccount:c5c3-system:cinder-operator'"},{"name":"not-being-deleted","expression":"!has(object.metadata.deletionTimestamp)"}]}`

// readTimeout bounds the reads of one request, well inside the 10 s that the API server waits.
const readTimeout = 5 * time.Second

// SetupWithManager registers the webhooks of the three kinds with the manager's webhook server. reader must not be a
// cache: whether a Cinder has a backup target already is decided by what the API server holds now.
func SetupWithManager(mgr manager.Manager, reader client.Reader) error {
	for path, handler := range map[string]crwebhook.Handler{
		"/mutate-cinder-openstack-c5c3-io-v1alpha1-cinder": defaulter[*v1alpha1.Cinder]{
			empty: func() *v1alpha1.Cinder { return &v1alpha1.Cinder{} },
			fill:  admission.DefaultCinder,
			spec:  func(obj *v1alpha1.Cinder) any { return obj.Spec },
		},
		"/mutate-cinder-openstack-c5c3-io-v1alpha1-cinderbackend": defaulter[*v1alpha1.CinderBackend]{
			empty: func() *v1alpha1.CinderBackend { return &v1alpha1.CinderBackend{} },
			fill:  admission.DefaultCinderBackend,
			spec:  func(obj *v1alpha1.CinderBackend) any { return obj.Spec },
		},
		"/mutate-cinder-openstack-c5c3-io-v1alpha1-cinderbackupbackend": defaulter[*v1alpha1.CinderBackupBackend]{
			empty: func() *v1alpha1.CinderBackupBackend { return &v1alpha1.CinderBackupBackend{} },
			fill:  admission.DefaultCinderBackupBackend,
			spec:  func(obj *v1alpha1.CinderBackupBackend) any { return obj.Spec },
		},
	} {
		mgr.GetWebhookServer().Register(path, &crwebhook.Webhook{Handler: handler})
	}
	if err := builder.WebhookManagedBy(mgr, &v1alpha1.Cinder{}).
		WithValidator(validator[*v1alpha1.Cinder]{"Cinder", cinder(reader)}).
		Complete(); err != nil {
		return fmt.Errorf("set up the webhooks of Cinder: %w", err)
	}
	if err := builder.WebhookManagedBy(mgr, &v1alpha1.CinderBackend{}).
		WithValidator(validator[*v1alpha1.CinderBackend]{"CinderBackend", cinderBackend(reader)}).
		Complete(); err != nil {
		return fmt.Errorf("set up the webhooks of CinderBackend: %w", err)
	}
	if err := builder.WebhookManagedBy(mgr, &v1alpha1.CinderBackupBackend{}).
		WithValidator(validator[*v1alpha1.CinderBackupBackend]{"CinderBackupBackend", cinderBackupBackend(reader)}).
		Complete(); err != nil {
		return fmt.Errorf("set up the webhooks of CinderBackupBackend: %w", err)
	}
	return nil
}

// validator answers all violations at once.
type validator[T client.Object] struct {
	kind string
	// validate is given the zero value of T for old on create.
	validate func(ctx context.Context, obj, old T) ([]string, field.ErrorList, error)
}

// ValidateCreate implements the validating webhook.
func (v validator[T]) ValidateCreate(ctx context.Context, obj T) (crwebhook.Warnings, error) {
	var none T
	return v.answer(ctx, obj, none)
}

// ValidateUpdate implements the validating webhook.
func (v validator[T]) ValidateUpdate(ctx context.Context, old, obj T) (crwebhook.Warnings, error) {
	return v.answer(ctx, obj, old)
}

// ValidateDelete implements the validating webhook, which is asked about no deletion.
func (v validator[T]) ValidateDelete(context.Context, T) (crwebhook.Warnings, error) {
	return nil, nil
}

func (v validator[T]) answer(ctx context.Context, obj, old T) (crwebhook.Warnings, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	warnings, errs, err := v.validate(ctx, obj, old)
	switch {
	case err != nil:
		// Not known is neither valid nor invalid: the caller asks again.
		return nil, apierrors.NewServiceUnavailable(err.Error())
	case len(errs) > 0:
		return warnings, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind(v.kind).GroupKind(), obj.GetName(), errs)
	}
	return warnings, nil
}

func cinder(reader client.Reader) func(_ context.Context, obj, old *v1alpha1.Cinder) ([]string, field.ErrorList, error) {
	return func(ctx context.Context, obj, old *v1alpha1.Cinder) ([]string, field.ErrorList, error) {
		facts := admission.CinderFacts{}
		for _, name := range admission.PriorityClasses(obj, old) {
			switch err := reader.Get(ctx, client.ObjectKey{Name: name}, &schedulingv1.PriorityClass{}); {
			case apierrors.IsNotFound(err):
				facts.MissingPriorityClasses = append(facts.MissingPriorityClasses, name)
			case err != nil:
				return nil, nil, fmt.Errorf("get PriorityClass %s: %w", name, err)
			}
		}
		warnings, errs := admission.ValidateCinder(obj, old, facts)
		return warnings, errs, nil
	}
}

func cinderBackend(reader client.Reader) func(_ context.Context, obj, old *v1alpha1.CinderBackend) ([]string, field.ErrorList, error) {
	return func(ctx context.Context, obj, old *v1alpha1.CinderBackend) ([]string, field.ErrorList, error) {
		facts := admission.CinderBackendFacts{}
		if admission.AsksForParent(obj, old) {
			parent := &v1alpha1.Cinder{}
			// The Cinder decides about a warning alone, so a read that fails is none.
			if err := reader.Get(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: obj.Spec.CinderRef.Name}, parent); err == nil {
				facts.Parent = parent
			}
		}
		warnings, errs := admission.ValidateCinderBackend(obj, old, facts)
		return warnings, errs, nil
	}
}

func cinderBackupBackend(reader client.Reader) func(_ context.Context, obj, old *v1alpha1.CinderBackupBackend) ([]string, field.ErrorList, error) {
	return func(ctx context.Context, obj, old *v1alpha1.CinderBackupBackend) ([]string, field.ErrorList, error) {
		siblings := &v1alpha1.CinderBackupBackendList{}
		if admission.AsksForSiblings(obj, old) {
			if err := reader.List(ctx, siblings, client.InNamespace(obj.Namespace)); err != nil {
				return nil, nil, fmt.Errorf("list CinderBackupBackends in %s: %w", obj.Namespace, err)
			}
		}
		warnings, errs := admission.ValidateCinderBackupBackend(obj, old, admission.CinderBackupBackendFacts{Siblings: siblings.Items})
		return warnings, errs, nil
	}
}
