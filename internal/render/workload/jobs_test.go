// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/workload"
)

func TestJobsRunEachAttemptInAPodOfItsOwn(t *testing.T) {
	c, f := full()
	for name, object := range objects(c, f) {
		job, ok := object.(*batchv1.Job)
		if !ok {
			continue
		}
		if job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever || *job.Spec.BackoffLimit != 4 ||
			job.Spec.TTLSecondsAfterFinished != nil || job.Labels[render.LabelComponent] != "job" {
			t.Errorf("%s: %+v", name, job.Spec)
		}
		if items := mounted(job.Spec.Template)[render.ConfigDir].ConfigMap.Items; items != nil {
			t.Errorf("%s mounts %v instead of the whole ConfigMap", name, items)
		}
	}
}

func TestCommandsOfJobs(t *testing.T) {
	c, f := plain()
	const dir = "cinder-manage --config-dir /etc/cinder/cinder.conf.d "
	for _, c := range []struct {
		job  *batchv1.Job
		want string
	}{
		{workload.DBSync(c, f), dir + "db sync"},
		{workload.DBExpand(c, f, "2026.1", "2026.2"), dir + "db sync"},
		{workload.DBContract(c, f, "2026.1", "2026.2"), dir + "db online_data_migrations"},
	} {
		if got := strings.Join(c.job.Spec.Template.Spec.Containers[0].Command, " "); got != c.want {
			t.Errorf("%s runs %q", c.job.Name, got)
		}
	}
}

// runScript runs a wrapper with a stand-in for the Cinder binary that exits
// with a code, and returns the wrapper's exit code, what the binary was called
// with, and the termination message.
func runScript(t *testing.T, job *batchv1.Job, binary string, exit int) (code int, args, message string) {
	t.Helper()
	dir := t.TempDir()
	log, term := filepath.Join(dir, "args"), filepath.Join(dir, "termination-log")
	stub := "#!/bin/sh\necho \"$@\" > " + log + "\nexit " + strconv.Itoa(exit) + "\n"
	if err := os.WriteFile(filepath.Join(dir, binary), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	command := job.Spec.Template.Spec.Containers[0].Command
	script := strings.ReplaceAll(command[2], "/dev/termination-log", term)
	cmd := exec.Command(command[0], append([]string{command[1], script}, command[3:]...)...)
	cmd.Env = []string{"PATH=" + dir}
	if err := cmd.Run(); err != nil {
		var exited *exec.ExitError
		if !errors.As(err, &exited) {
			t.Fatal(err)
		}
		code = exited.ExitCode()
	}
	read := func(path string) string { raw, _ := os.ReadFile(path); return strings.TrimSpace(string(raw)) }
	return code, read(log), read(term)
}

func TestTheUpgradeCheckReportsItsSeverityAndNeverWedges(t *testing.T) {
	c, f := plain()
	for exit, want := range map[int]int{0: 0, 1: 0, 2: 0, 3: 3, 255: 255} {
		code, args, message := runScript(t, workload.DBMigrate(c, f, "2026.1", "2026.2"), "cinder-status", exit)
		if code != want || args != "--config-dir /etc/cinder/cinder.conf.d upgrade check" ||
			message != workload.MigrateMessage+strconv.Itoa(exit) {
			t.Errorf("exit %d becomes %d, args %q, message %q", exit, code, args, message)
		}
	}
}

func TestServiceRemoveToleratesAnUnknownHost(t *testing.T) {
	c, f := plain()
	for exit, want := range map[int]int{0: 0, 1: 1, 2: 0, 3: 3} {
		code, args, _ := runScript(t, workload.ServiceRemove(c, f, "nfs-a", "uid"), "cinder-manage", exit)
		if code != want || args != "--config-dir /etc/cinder/cinder.conf.d service remove cinder-volume cinder@nfs-a" {
			t.Errorf("exit %d becomes %d, args %q", exit, code, args)
		}
	}
}

func TestAJobIsAnotherOneWhenWhatItRunsChanges(t *testing.T) {
	base := func() (*v1alpha1.Cinder, render.Facts) { return plain() }
	c, f := base()
	if !workload.SameJob(workload.DBSync(c, f), workload.DBSync(c, f)) {
		t.Fatal("one intent gives two Jobs")
	}
	for name, change := range map[string]func(*v1alpha1.Cinder, *render.Facts){
		"image":  func(c *v1alpha1.Cinder, _ *render.Facts) { c.Spec.Image.Tag = "2026.1-p1" },
		"config": func(_ *v1alpha1.Cinder, f *render.Facts) { f.ConfigMapName = "cinder-config-2" },
		"scheduling": func(c *v1alpha1.Cinder, _ *render.Facts) {
			c.Spec.Jobs = &v1alpha1.JobSpec{NodeSelector: map[string]string{"a": "b"}}
		},
	} {
		c2, f2 := base()
		change(c2, &f2)
		if workload.SameJob(workload.DBSync(c, f), workload.DBSync(c2, f2)) {
			t.Errorf("a changed %s gives the same Job", name)
		}
	}
	for name, facts := range map[string]func(*render.Facts){
		"credential": func(f *render.Facts) { f.DBConnectionHash = "other" },
		"release":    func(f *render.Facts) { f.InstalledRelease = "2026.2" },
	} {
		f2 := f
		facts(&f2)
		if !workload.SameJob(workload.DBSync(c, f), workload.DBSync(c, f2)) {
			t.Errorf("a changed %s runs db-sync anew", name)
		}
	}
	if workload.SameJob(workload.DBExpand(c, f, "2026.1", "2026.2"), workload.DBExpand(c, f, "2026.2", "2027.1")) {
		t.Error("two upgrades share a Job")
	}
	if workload.SameJob(workload.ServiceRemove(c, f, "b", "uid-1"), workload.ServiceRemove(c, f, "b", "uid-2")) {
		t.Error("two backends of one name share a Job")
	}
	job := workload.DBExpand(c, f, "2026.1", "2026.2")
	if got := job.Annotations[render.AnnotationRerunKey]; got != "2026.1-2026.2" {
		t.Errorf("the re-run key is %q", got)
	}
}

func TestJobsFollowTheAPIWhereTheyAreNotTold(t *testing.T) {
	c, f := full()
	pod := workload.DBSync(c, f).Spec.Template.Spec
	if pod.PriorityClassName != "high" || pod.NodeSelector["role"] != "control" || len(pod.Tolerations) != 1 ||
		pod.Affinity.NodeAffinity == nil || pod.Affinity.PodAntiAffinity != nil {
		t.Errorf("left out: %+v", pod)
	}
	none := ""
	c.Spec.Jobs = &v1alpha1.JobSpec{
		PriorityClassName: &none, NodeSelector: map[string]string{}, Tolerations: []corev1.Toleration{}, Affinity: &corev1.Affinity{},
	}
	pod = workload.DBSync(c, f).Spec.Template.Spec
	if pod.PriorityClassName != "" || len(pod.NodeSelector) != 0 || len(pod.Tolerations) != 0 || pod.Affinity.NodeAffinity != nil {
		t.Errorf("opted out: %+v", pod)
	}
}

func TestThePurgeIsBounded(t *testing.T) {
	c, f := plain()
	cron := workload.DBPurge(c, f)
	job := cron.Spec.JobTemplate
	if cron.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent || *job.Spec.ActiveDeadlineSeconds != 3600 ||
		cron.Spec.Schedule != "1 0 * * *" || *cron.Spec.Suspend || job.Labels[render.LabelInstance] != "cinder" {
		t.Errorf("got %+v", cron.Spec)
	}
	if got := strings.Join(job.Spec.Template.Spec.Containers[0].Command, " "); got != "cinder-manage --config-dir /etc/cinder/cinder.conf.d db purge 30" {
		t.Errorf("runs %q", got)
	}
	c, f = full()
	if cron := workload.DBPurge(c, f); cron.Spec.Schedule != "@weekly" || !*cron.Spec.Suspend {
		t.Errorf("the settings are not taken: %+v", cron.Spec)
	}
}
