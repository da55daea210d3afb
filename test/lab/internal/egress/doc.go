// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package egress answers for what an API server dials inside its cluster: fake pods have no network, and webhooks of
// a program on the host stand behind a Service. An API server with an egress selector sends such connections as HTTP
// CONNECT to a socket of the lab, so they take the real way through the server: Service, endpoints, proxy.
package egress
