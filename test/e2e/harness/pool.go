// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	// poolVariable names a folder in which suites leave their labs to the next ones.
	// Its file "owner" holds the id of the process that the labs end with.
	poolVariable = "CINDER_E2E_LABS"
	// pooledTargets is how many targets the labs there have.
	pooledTargets = 2
)

// slot is a place for one lab in the pool. It is locked until it is released, or
// this process ends.
type slot struct {
	dir  string
	lock *os.File
}

// takeSlot locks a slot that no other suite uses: one with a lab that was left
// clean, or else the first one.
func takeSlot(pool string) (*slot, error) {
	// One suite looks at a time: it holds every slot that it passes.
	all, err := lock(filepath.Join(pool, "lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	var empty *slot
	for n := 1; ; n++ {
		dir := filepath.Join(pool, strconv.Itoa(n))
		_, err := os.Stat(dir + ".lock")
		last := errors.Is(err, fs.ErrNotExist)
		if last && empty != nil {
			return empty, nil
		}
		f, err := lock(dir+".lock", syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s := &slot{dir: dir, lock: f}
		switch {
		case s.clean():
			if empty != nil {
				empty.release()
			}
			return s, nil
		case last:
			return s, nil
		case empty == nil:
			empty = s
		default:
			s.release()
		}
	}
}

func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

func (s *slot) release() { s.lock.Close() }

// mark is the file that says that the slot's lab runs and is clean. While a suite
// uses the lab it is not there, so the lab of one that died is not used again.
func (s *slot) mark() string { return filepath.Join(s.dir, "clean") }

func (s *slot) clean() bool {
	_, err := os.Stat(s.mark())
	return err == nil
}

// soil takes the mark away, and tells whether it was there.
func (s *slot) soil() (bool, error) {
	err := os.Remove(s.mark())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("take the lab in %s: %w", s.dir, err)
	}
	return true, nil
}

func (s *slot) leave() error {
	if err := os.WriteFile(s.mark(), nil, 0o600); err != nil {
		return fmt.Errorf("leave the lab in %s: %w", s.dir, err)
	}
	return nil
}

// poolOwner is the id of the process that the pool's labs end with.
func poolOwner(pool string) (int, error) {
	text, err := os.ReadFile(filepath.Join(pool, "owner"))
	if err != nil {
		return 0, fmt.Errorf("find the owner of the labs: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("find the owner of the labs: %w", err)
	}
	return pid, nil
}
