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
	secret, message, err := r.credentials(ctx, p, spec.SecretRef.Name, databaseKeys(spec)...)
	if err != nil {
		return ctrl.Result{}, err
	}
	if message != "" {
		return r.waitForSecrets(p, v1alpha1.ReasonWaitingForDBCredentials, "database credentials: "+message)
	}
	dsn, err := databaseOf(p.Cinder, secret.Data).URL()
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

// ownUser tells whether the operator makes the database user, which is then named
// after the Cinder.
func ownUser(spec *v1alpha1.DatabaseSpec) bool {
	return spec.Managed() && spec.EffectiveCredentialsMode() != v1alpha1.CredentialsModeDynamic
}

// databaseKeys are the data keys that the database Secret has to carry.
func databaseKeys(spec *v1alpha1.DatabaseSpec) []string {
	if ownUser(spec) {
		return []string{spec.SecretRef.EffectiveKey(keyPassword)}
	}
	return []string{keyUsername, keyPassword}
}

// databaseOf describes the connection. The files are where the pods mount the
// Secrets that spec.database.tls names.
func databaseOf(cr *v1alpha1.Cinder, secret map[string][]byte) urls.Database {
	spec := &cr.Spec.Database
	db := urls.Database{
		Host: spec.Host, Port: spec.EffectivePort(), Name: spec.Database,
		Username: string(secret[keyUsername]), Password: string(secret[keyPassword]),
	}
	if spec.Managed() {
		db.Host = spec.ClusterRef.Name + "." + cr.Namespace + ".svc"
	}
	if ownUser(spec) {
		db.Username, db.Password = cr.Name, string(secret[spec.SecretRef.EffectiveKey(keyPassword)])
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
