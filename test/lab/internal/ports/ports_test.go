// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package ports

import (
	"net"
	"testing"
)

func TestAPortIsHandedToOneLabUntilItIsGivenBack(t *testing.T) {
	var a Allocator
	defer a.Close()
	seen := map[int]bool{}
	for range 50 {
		port, err := a.Next()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("port %d was handed out twice", port)
		}
		if port < first || port >= last {
			t.Fatalf("port %d is outside of %d to %d", port, first, last)
		}
		seen[port] = true
	}
	for port := range seen {
		if claim, err := net.Listen("unix", claimName(port)); err == nil {
			claim.Close()
			t.Errorf("another lab may take port %d", port)
		}
	}
	a.Close()
	for port := range seen {
		claim, err := net.Listen("unix", claimName(port))
		if err != nil {
			t.Errorf("port %d is still held after Close: %v", port, err)
			continue
		}
		claim.Close()
	}
}
