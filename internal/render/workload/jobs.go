// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// ContainerJob is the name of the container of every Job.
const ContainerJob = "cinder-manage"

// backoffLimit is how often a Job tries again.
const backoffLimit int32 = 4

// MigrateMessage starts the termination message of the migrate Job's pod; the
// exit code of the upgrade check follows.
const MigrateMessage = "cinder-status upgrade check exit "

// migrateScript normalises the severity that the upgrade check exits with: 0
// is clean, 1 warns, 2 is a failed check that the services mend on their own.
const migrateScript = `cinder-status --config-dir "$1" upgrade check
rc=$?
printf '` + MigrateMessage + `%s' "$rc" > /dev/termination-log
[ "$rc" -le 2 ] && exit 0
exit "$rc"
`

// serviceRemoveScript tolerates 2, which older releases exit with for a host
// that is not registered: it is gone, which is what was asked for.
const serviceRemoveScript = `cinder-manage --config-dir "$1" service remove cinder-volume "$2"
rc=$?
[ "$rc" -eq 2 ] && exit 0
exit "$rc"
`

// DBSync renders the Job that applies every pending schema revision.
func DBSync(c *v1alpha1.Cinder, f render.Facts) *batchv1.Job {
	return job(c, f, jobIntent{name: render.DBSyncName(c.Name), command: manage("db", "sync")})
}

// DBExpand renders the Job of the expand phase: Cinder has no separate verb,
// and the sync is the same.
func DBExpand(c *v1alpha1.Cinder, f render.Facts, installed, target string) *batchv1.Job {
	return job(c, f, jobIntent{
		name: render.DBExpandName(c.Name), command: manage("db", "sync"), rerun: installed + "-" + target,
	})
}

// DBMigrate renders the Job of the migrate phase: the upgrade check, whose exit
// code goes into the termination message.
func DBMigrate(c *v1alpha1.Cinder, f render.Facts, installed, target string) *batchv1.Job {
	return job(c, f, jobIntent{
		name:    render.DBMigrateName(c.Name),
		command: []string{"/bin/sh", "-c", migrateScript, "db-migrate", render.ConfigDir},
		rerun:   installed + "-" + target,
	})
}

// DBContract renders the Job of the contract phase.
func DBContract(c *v1alpha1.Cinder, f render.Facts, installed, target string) *batchv1.Job {
	return job(c, f, jobIntent{
		name: render.DBContractName(c.Name), command: manage("db", "online_data_migrations"), rerun: installed + "-" + target,
	})
}

// ServiceRemove renders the Job that takes a backend out of the service
// registry, with the environment that its volume service ran with. uid is the
// CinderBackend's: a Job with another one was for a backend that is gone.
func ServiceRemove(c *v1alpha1.Cinder, f render.Facts, backend string, uid types.UID) *batchv1.Job {
	return job(c, f, jobIntent{
		name: render.ServiceRemoveName(c.Name, backend),
		command: []string{
			"/bin/sh", "-c", serviceRemoveScript, "service-remove", render.ConfigDir, render.VolumeHost(c.Name, backend),
		},
		env:         busEnv(c, f),
		annotations: map[string]string{render.AnnotationBackendUID: string(uid)},
	})
}

// DBPurge renders the CronJob that removes rows deleted long ago. Forbid keeps
// a long run from being overtaken; the deadline ends one that hangs, so that
// its failure shows.
func DBPurge(c *v1alpha1.Cinder, f render.Facts) *batchv1.CronJob {
	settings := c.Spec.EffectiveDBPurge()
	template := job(c, f, jobIntent{command: manage("db", "purge", strconv.Itoa(int(settings.RetentionDays)))})
	template.Spec.ActiveDeadlineSeconds = ptr.To[int64](3600)
	return &batchv1.CronJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"},
		ObjectMeta: meta(c, render.DBPurgeName(c.Name), render.Labels(c.Name, render.ComponentJob)),
		Spec: batchv1.CronJobSpec{
			Schedule:          settings.Schedule,
			Suspend:           ptr.To(settings.Suspend),
			ConcurrencyPolicy: batchv1.ForbidConcurrent,
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: template.Labels},
				Spec:       template.Spec,
			},
		},
	}
}

func manage(args ...string) []string {
	return append([]string{"cinder-manage", "--config-dir", render.ConfigDir}, args...)
}

// jobIntent is what Jobs differ in.
type jobIntent struct {
	name    string
	command []string
	// rerun makes an unchanged Job run anew when it changes.
	rerun string
	// env stands for the credentials alone when nil.
	env         []corev1.EnvVar
	annotations map[string]string
}

func job(c *v1alpha1.Cinder, f render.Facts, intent jobIntent) *batchv1.Job {
	m := jobMounts(c, f)
	settings := c.Spec.EffectiveJob()
	if intent.env == nil {
		intent.env = credentials(c)
	}
	container := corev1.Container{
		Name:         ContainerJob,
		Command:      intent.command,
		Env:          intent.env,
		Resources:    settings.Resources,
		VolumeMounts: m.mounts,
	}
	finishContainer(c, f, &container)

	annotations := map[string]string{}
	for key, value := range intent.annotations {
		annotations[key] = value
	}
	if intent.rerun != "" {
		annotations[render.AnnotationRerunKey] = intent.rerun
	}
	rendered := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: meta(c, intent.name, render.Labels(c.Name, render.ComponentJob)),
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To(backoffLimit),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: render.Labels(c.Name, render.ComponentJob)},
				Spec: corev1.PodSpec{
					// Each retry is a pod of its own, whose exit and message stay
					// readable.
					RestartPolicy:                corev1.RestartPolicyNever,
					AutomountServiceAccountToken: ptr.To(false),
					EnableServiceLinks:           ptr.To(false),
					SecurityContext:              podSecurity(),
					PriorityClassName:            settings.PriorityClassName,
					NodeSelector:                 settings.NodeSelector,
					Tolerations:                  settings.Tolerations,
					Affinity:                     settings.Affinity,
					Containers:                   []corev1.Container{container},
					Volumes:                      m.volumes,
				},
			},
		},
	}
	rendered.Annotations = annotations
	annotations[render.AnnotationJobHash] = jobHash(rendered)
	return rendered
}

// jobHash digests what a Job runs: its pod and its annotations. A Job's
// template cannot be changed, so a live Job with another digest has to be
// replaced.
func jobHash(j *batchv1.Job) string {
	// Maps are written in key order, so the bytes are the same every time.
	raw, err := json.Marshal(struct {
		Annotations map[string]string
		Template    corev1.PodTemplateSpec
	}{j.Annotations, j.Spec.Template})
	if err != nil {
		// Nothing in these types can fail to be written.
		panic(fmt.Sprintf("write the pod template of a Job: %v", err))
	}
	return render.Digest(string(raw))
}

// SameJob tells whether a live Job was rendered from the same intent.
func SameJob(live, intent *batchv1.Job) bool {
	return live.Annotations[render.AnnotationJobHash] == intent.Annotations[render.AnnotationJobHash]
}
