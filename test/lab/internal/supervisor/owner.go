// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ownerPoll bounds how long the watch outlives its context.
const ownerPoll = 200 * time.Millisecond

// watchProcess calls gone once when the process ends. The descriptor stands for this very process: a number that is
// handed out again does not keep the lab alive. The returned group is done when the watch is.
func watchProcess(ctx context.Context, pid int, gone func()) (*sync.WaitGroup, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("watch the owner, process %d: %w", pid, err)
	}
	wg := &sync.WaitGroup{}
	wg.Go(func() {
		defer unix.Close(fd)
		for ctx.Err() == nil {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(ownerPoll.Milliseconds()))
			if err != nil && !errors.Is(err, unix.EINTR) || n > 0 {
				gone()
				return
			}
		}
	})
	return wg, nil
}
