// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package satellite reconciles CinderBackend and CinderBackupBackend. Both
// answer the same two questions, so one reconciler serves both kinds: are the
// credentials of the storage usable on the cluster of the parent Cinder, and
// does the service's Deployment there name the Secret that was rendered for the
// resource?
//
// The package is the single writer of the status of both kinds. It creates
// nothing: the Cinder's own controller renders a satellite once its
// CredentialsReady is True.
package satellite
