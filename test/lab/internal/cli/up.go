// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"c5c3.io/cinder-operator/test/lab/internal/build"
	"c5c3.io/cinder-operator/test/lab/internal/control"
	"c5c3.io/cinder-operator/test/lab/internal/layout"
	"c5c3.io/cinder-operator/test/lab/internal/process"
	"c5c3.io/cinder-operator/test/lab/internal/supervisor"
)

// maxTargets keeps a slip of the finger from eating the machine's memory: a control plane takes about 230 MiB.
const maxTargets = 60

// reportFD is the descriptor on which the supervisor finds the pipe to its starter.
const reportFD = 3

type upOptions struct {
	targets, nodesPerCluster, ownerPID int
	nodes                              string
	temporary                          bool
}

func (u *upOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&u.targets, "targets", 2, "number of target clusters, edge-1 and so on")
	cmd.Flags().StringVar(&u.nodes, "nodes", supervisor.NodesFake, "fake: pods run on nodes that kwok plays; none: pods stay Pending")
	cmd.Flags().IntVar(&u.nodesPerCluster, "nodes-per-cluster", 3, "number of fake nodes of each cluster, each a zone of its own")
	cmd.Flags().IntVar(&u.ownerPID, "owner-pid", 0, "end the lab when this process ends")
	cmd.Flags().BoolVar(&u.temporary, "temporary", false, "remove the whole folder, logs included, when the lab ends")
}

func (u *upOptions) validate() error {
	if u.targets < 0 || u.targets > maxTargets {
		return fmt.Errorf("--targets %d is not between 0 and %d", u.targets, maxTargets)
	}
	if u.nodes != supervisor.NodesFake && u.nodes != supervisor.NodesNone {
		return fmt.Errorf("--nodes %q is neither %q nor %q", u.nodes, supervisor.NodesFake, supervisor.NodesNone)
	}
	if u.nodesPerCluster < 1 || u.nodesPerCluster > 100 {
		return fmt.Errorf("--nodes-per-cluster %d is not between 1 and 100", u.nodesPerCluster)
	}
	return nil
}

func newUp(o *options) *cobra.Command {
	u := &upOptions{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring up a hub and targets, detached, and return when all of it is ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := u.validate(); err != nil {
				return err
			}
			return u.run(cmd, o)
		},
	}
	u.addFlags(cmd)
	return cmd
}

func (u *upOptions) run(cmd *cobra.Command, o *options) error {
	dir, err := o.lab()
	if err != nil {
		return err
	}
	running, err := u.alreadyUp(cmd.Context(), dir, o.timeout)
	if err != nil {
		return err
	}
	start := time.Now()
	if !running {
		binaries, err := build.All(cmd.Context(), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		start = time.Now()
		ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
		defer cancel()
		if err := u.spawn(ctx, dir, binaries); err != nil {
			return fmt.Errorf("bring up the lab in %s: %w", dir, err)
		}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	status, err := control.NewClient(dir).Status(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "lab in %s is up (%s)\n", dir, time.Since(start).Round(100*time.Millisecond))
	for _, c := range status.Clusters {
		fmt.Fprintf(cmd.OutOrStdout(), "  %-8s %s  %s\n", c.Name, c.Server, c.Kubeconfig)
	}
	return nil
}

// alreadyUp tells whether the folder has the lab that is wanted. A different one there is an error.
func (u *upOptions) alreadyUp(ctx context.Context, dir layout.Dir, timeout time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	status, err := control.NewClient(dir).Status(ctx)
	if errors.Is(err, control.ErrNotRunning) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !status.Ready {
		return false, fmt.Errorf("a lab in %s is being brought up or down", dir)
	}
	if status.Targets != u.targets || status.Nodes != u.nodes || status.NodesPerCluster != u.nodesPerCluster {
		return false, fmt.Errorf("another lab runs in %s (%d targets, nodes: %s): end it with `lab down` or choose another --dir",
			dir, status.Targets, status.Nodes)
	}
	if u.ownerPID != 0 {
		return false, fmt.Errorf("a lab runs in %s already, and it does not belong to process %d", dir, u.ownerPID)
	}
	return true, nil
}

// spawn starts the supervisor in a session of its own and waits for its report.
func (u *upOptions) spawn(ctx context.Context, dir layout.Dir, binaries build.Binaries) error {
	if err := os.MkdirAll(dir.Logs(), 0o755); err != nil {
		return fmt.Errorf("create the lab's folder: %w", err)
	}
	// Not emptied: another supervisor may be writing to it, as this one will find out.
	log, err := os.OpenFile(dir.SupervisorLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the supervisor's log: %w", err)
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	report, reportEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	cmd := exec.Command(self, "supervise",
		"--dir", string(dir),
		"--assets", binaries.Assets,
		"--kwok", binaries.Kwok,
		"--targets", strconv.Itoa(u.targets),
		"--nodes", u.nodes,
		"--nodes-per-cluster", strconv.Itoa(u.nodesPerCluster),
		"--owner-pid", strconv.Itoa(u.ownerPID),
		"--temporary="+strconv.FormatBool(u.temporary))
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{reportEnd}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		reportEnd.Close()
		return fmt.Errorf("start the supervisor: %w", err)
	}
	// The supervisor's is now the only writing end: its death shows as the end of the file.
	reportEnd.Close()

	err = awaitReport(ctx, report)
	if err == nil {
		return cmd.Process.Release()
	}
	// Also the end of a supervisor that is still trying, as after an interrupt.
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the supervisor ended; last lines of %s:\n%s", dir.SupervisorLog(), process.Tail(dir.SupervisorLog(), 15))
	}
	return err
}

func awaitReport(ctx context.Context, report *os.File) error {
	stop := context.AfterFunc(ctx, func() { _ = report.SetReadDeadline(time.Now()) })
	defer stop()
	var r supervisor.Report
	if err := json.NewDecoder(report).Decode(&r); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	return nil
}

// newSupervise is the supervisor's own command, which `up` starts.
func newSupervise(o *options) *cobra.Command {
	u := &upOptions{}
	var binaries build.Binaries
	cmd := &cobra.Command{
		Use:    "supervise",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			dir, err := o.lab()
			if err != nil {
				return err
			}
			// The children must not inherit it: the starter would wait for their end too.
			syscall.CloseOnExec(reportFD)
			return supervisor.Run(supervisor.Options{
				Dir:             dir,
				Binaries:        binaries,
				Targets:         u.targets,
				Nodes:           u.nodes,
				NodesPerCluster: u.nodesPerCluster,
				OwnerPID:        u.ownerPID,
				Temporary:       u.temporary,
			}, os.NewFile(reportFD, "report"))
		},
	}
	u.addFlags(cmd)
	cmd.Flags().StringVar(&binaries.Assets, "assets", "", "folder of the components")
	cmd.Flags().StringVar(&binaries.Kwok, "kwok", "", "path of kwok")
	return cmd
}
