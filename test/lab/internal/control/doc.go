// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package control is what a supervisor and its clients say to each other: JSON over HTTP on the control socket.
package control
