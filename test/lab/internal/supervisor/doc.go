// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package supervisor owns everything that runs in a lab: the processes, the sockets and the ports. It is a process of
// its own, detached from the terminal; what it owns ends with it, however it ends.
package supervisor
