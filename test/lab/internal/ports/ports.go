// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package ports hands out TCP ports on the loopback address that stay with one lab for its whole life.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports lie below the range from which the kernel takes the source ports of outgoing connections (32768 and up by
// default): a port from that range could be taken by a stranger's connection while its API server is down.
const (
	first = 18000
	last  = 32000
)

// attempts is enough to find a free port in a range that is nearly full.
const attempts = 5000

// Allocator hands out ports and holds them against other labs until it is closed.
type Allocator struct {
	held []net.Listener
}

// Next returns a port that is free now and is handed to no other lab on this machine until Close.
//
// The claim is a socket in the abstract namespace: it is atomic, leaves no file, and ends with the process however
// that ends.
func (a *Allocator) Next() (int, error) {
	for range attempts {
		port := first + rand.IntN(last-first)
		claim, err := net.Listen("unix", claimName(port))
		if err != nil {
			continue
		}
		probe, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			claim.Close()
			continue
		}
		probe.Close()
		a.held = append(a.held, claim)
		return port, nil
	}
	return 0, fmt.Errorf("find a free port between %d and %d: none in %d attempts", first, last, attempts)
}

func claimName(port int) string { return fmt.Sprintf("@cinder-lab/port/%d", port) }

// Close gives every port back.
func (a *Allocator) Close() {
	for _, claim := range a.held {
		claim.Close()
	}
	a.held = nil
}
