// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/urls"
)

// reconcileDBConnectionSecret assembles the DSN into the derived Secret.
func (r *Reconciler) reconcileDBConnectionSecret(ctx context.Context, p *Pass) (ctrl.Result, error) {
	spec := &p.Cinder.Spec.Database
	if spec.Managed() {
		return r.notSupportedSecrets(p, "spec.database.clusterRef")
	}
	if spec.EffectiveCredentialsMode() == v1alpha1.CredentialsModeDynamic {
		return r.notSupportedSecrets(p, "spec.database.credentialsMode Dynamic")
	}
	secret, message, err := r.credentials(ctx, p, spec.SecretRef.Name, keyUsername, keyPassword)
	if err != nil {
		return ctrl.Result{}, err
	}
	if message != "" {
		return r.waitForSecrets(p, v1alpha1.ReasonWaitingForDBCredentials, "database credentials: "+message)
	}
	dsn, err := databaseOf(spec, string(secret.Data[keyUsername]), string(secret.Data[keyPassword])).URL()
	if err != nil {
		// A host or a TLS block that makes no DSN: only a change of the spec
		// helps, and the message says of what.
		return r.waitForSecrets(p, v1alpha1.ReasonWaitingForDBCredentials, "spec.database: "+err.Error())
	}
	derived := derivedSecret(p.Cinder, render.DBConnectionName(p.Cinder.Name), map[string][]byte{render.KeyConnection: []byte(dsn)})
	if _, err := apply(ctx, p, derived); err != nil {
		return ctrl.Result{}, err
	}
	p.Facts.DBConnectionHash = render.Digest(dsn)
	return ctrl.Result{}, nil
}

// databaseOf describes a brownfield connection. The files are where the pods
// mount the Secrets that spec.database.tls names.
func databaseOf(spec *v1alpha1.DatabaseSpec, username, password string) urls.Database {
	db := urls.Database{
		Host: spec.Host, Port: spec.EffectivePort(), Name: spec.Database, Username: username, Password: password,
	}
	if !spec.TLS.Enabled() {
		return db
	}
	db.TLSMode = string(spec.TLS.EffectiveMode())
	if spec.TLS.CABundleSecretRef != nil {
		db.CAFile = render.DatabaseCAFile
	}
	if spec.TLS.ClientCertSecretRef != nil {
		db.CertFile, db.KeyFile = render.DatabaseCert, render.DatabaseKeyFile
	}
	return db
}

// notSupportedSecrets ends the pass at a field that no step serves yet.
func (r *Reconciler) notSupportedSecrets(p *Pass, field string) (ctrl.Result, error) {
	p.notSupported(v1alpha1.ConditionSecretsReady, field)
	return ctrl.Result{RequeueAfter: r.Intervals.SecretPolling}, nil
}
