// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Binaries are the folders of what was built.
type Binaries struct {
	// Assets holds etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl. It serves envtest
	// as KUBEBUILDER_ASSETS.
	Assets string
	// Kwok is the path of the fake kubelet.
	Kwok string
}

// Path is the path of one of the components in Assets.
func (b Binaries) Path(component string) string { return filepath.Join(b.Assets, component) }

// All returns the binaries, building what the cache lacks. Progress goes to out as lines. It returns early with an
// error when ctx ends.
func All(ctx context.Context, out io.Writer) (Binaries, error) {
	sources, err := Sources()
	if err != nil {
		return Binaries{}, err
	}
	cache, err := CacheDir()
	if err != nil {
		return Binaries{}, err
	}
	var kube, kwok string
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		kube, err = Kube.ensure(ctx, sources, cache, out)
		return err
	})
	group.Go(func() (err error) {
		kwok, err = Kwok.ensure(ctx, sources, cache, out)
		return err
	})
	if err := group.Wait(); err != nil {
		return Binaries{}, err
	}
	return Binaries{Assets: kube, Kwok: filepath.Join(kwok, Kwok.Name)}, nil
}

// ensure returns the folder in the cache that holds the piece. The folder appears by a rename, so one that is there
// is complete; whoever builds holds the lock, so the same piece is never built twice at once.
func (p Piece) ensure(ctx context.Context, sources, cache string, out io.Writer) (string, error) {
	key, err := p.key(sources)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, key)
	if complete(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("create the cache: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(cache, key+".lock"), func() {
		fmt.Fprintf(out, "waiting for another build of %s %s\n", p.Name, p.Version)
	})
	if err != nil {
		return "", fmt.Errorf("lock the build of %s: %w", p.Name, err)
	}
	defer unlock()
	if complete(dir) {
		return dir, nil
	}
	fmt.Fprintf(out, "building %s %s (minutes with an empty build cache)\n", p.Name, p.Version)
	start := time.Now()
	if err := p.build(ctx, filepath.Join(sources, p.Name), dir); err != nil {
		return "", fmt.Errorf("build %s %s: %w", p.Name, p.Version, err)
	}
	fmt.Fprintf(out, "built %s %s in %s\n", p.Name, p.Version, time.Since(start).Round(time.Second))
	return dir, nil
}

func complete(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// build compiles into a temporary folder beside the final one and renames it.
func (p Piece) build(ctx context.Context, module, dir string) error {
	leftovers, err := filepath.Glob(dir + ".tmp-*")
	if err != nil {
		return err
	}
	for _, leftover := range leftovers {
		// The lock is ours, so nobody is building into it any more.
		if err := os.RemoveAll(leftover); err != nil {
			return err
		}
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-mod=readonly"}
	if p.Tags != "" {
		args = append(args, "-tags", p.Tags)
	}
	args = append(args, "-ldflags", p.LDFlags, "-o", filepath.Join(tmp, p.Name), p.Package)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	// The compilers that the Go tool starts belong to its process group: an interrupted build ends them too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return errors.Join(fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), module, err, tail(output.String(), 20)), ctx.Err())
	}
	for _, name := range p.Names {
		if err := os.Symlink(p.Name, filepath.Join(tmp, name)); err != nil {
			return err
		}
	}
	return os.Rename(tmp, dir)
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// lock takes an exclusive lock that the kernel drops when this process ends, however it ends. The lock file stays:
// removing it would let two processes lock two files of the same name.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, err
	}
	told := false
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			file.Close()
			return nil, err
		}
		if !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
