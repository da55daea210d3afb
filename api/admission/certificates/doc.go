// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package certificates serves the webhooks' TLS certificate from a Secret, and by default keeps that Secret.
//
// Every replica follows the Secret and serves what it holds at that moment, so that nothing is mounted and no renewal needs
// a restart. One replica, the leader, keeps it: it makes an authority and a certificate of it, with the primitives of
// open-policy-agent/cert-controller, renews both long before they end, makes them anew when the Secret is gone, expired or
// damaged, and writes the authority into the webhook configurations. A good certificate of an authority before is served
// until the new authority is trusted. The controller of that library is not used: it ends the process when the Secret is
// missing or the configurations cannot be written, watches every Secret of the namespace, and waits for a mount.
//
// With cert-manager the Secret and the configurations are its own (an annotation lets it write the authority), and this
// package only follows.
package certificates
