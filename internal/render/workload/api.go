// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// PortName is the name of the API's port, on the container and the Service.
const PortName = "api"

// API renders the API Deployment. It carries no installed-release annotation:
// it rolls during an upgrade and comes up with the new RPC versions.
func API(c *v1alpha1.Cinder, f render.Facts) *appsv1.Deployment {
	m := serviceMounts(c, f)
	return deployment(c, f, service{
		name:      c.Name,
		component: v1alpha1.ComponentAPI,
		label:     render.ComponentAPI,
		replicas:  APIReplicas(c, f.LiveReplicas),
		volumes:   m.volumes,
		container: corev1.Container{
			Name:           ContainerAPI,
			Command:        uwsgi(c),
			Env:            credentials(c),
			Ports:          []corev1.ContainerPort{{Name: PortName, ContainerPort: render.APIPort, Protocol: corev1.ProtocolTCP}},
			StartupProbe:   healthcheck(5, 60),
			LivenessProbe:  healthcheck(15, 4),
			ReadinessProbe: healthcheck(10, 3),
			VolumeMounts:   m.mounts,
		},
	})
}

// APIReplicas is the replica count to apply. With autoscaling it is the live
// count clamped to the bounds: leaving the field out of the apply would give
// it up, and the API server would scale to one.
func APIReplicas(c *v1alpha1.Cinder, live *int32) int32 {
	least, largest := c.Spec.EffectiveAPIReplicaBounds()
	if c.Spec.Autoscaling == nil || live == nil {
		return least
	}
	return min(max(*live, least), largest)
}

func uwsgi(c *v1alpha1.Cinder) []string {
	settings := c.Spec.EffectiveUWSGI()
	number := func(n int32) string { return strconv.Itoa(int(n)) }
	command := []string{
		"uwsgi",
		"--http", ":" + number(render.APIPort),
		"--master",
		// SIGTERM would reload instead of stopping. The hook lets each worker end
		// the request it is at, so that no operation is cut in the middle; its
		// client is gone by then, because the HTTP router stops at once. Clients
		// are drained by the preStop sleep before.
		"--die-on-term",
		"--hook-master-start", "unix_signal:15 gracefully_kill_them_all",
		// Without an application uWSGI would answer 500 for ever.
		"--need-app",
		// An application loaded before the fork shares its database connections.
		"--lazy-apps",
		"--enable-threads",
		// Tokens travel in headers that are larger than the default of 4 KiB.
		"--buffer-size", "65535",
		"--processes", number(settings.Processes),
		"--threads", number(settings.Threads),
	}
	if settings.HTTPKeepAlive {
		keepAlive := "--http-keepalive"
		if settings.HTTPKeepAliveTimeout != nil {
			keepAlive += "=" + number(*settings.HTTPKeepAliveTimeout)
		}
		command = append(command, keepAlive)
	}
	if settings.Harakiri != nil {
		command = append(command, "--harakiri", number(*settings.Harakiri))
	}
	return append(command,
		"--module", "cinder.wsgi.api:application",
		"--pyargv", "--config-dir "+render.ConfigDir)
}

// healthcheck asks the process whether it serves. It says nothing about the
// database or the broker, so it is safe as a liveness probe.
func healthcheck(period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: render.HealthPath, Port: intstr.FromString(PortName), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds:    period,
		TimeoutSeconds:   5,
		FailureThreshold: failures,
	}
}

// Service renders the API's Service. It selects by component, so that it never
// selects a Job's pod.
func Service(c *v1alpha1.Cinder) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(c, c.Name, render.Labels(c.Name, render.ComponentAPI)),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: render.SelectorLabels(c.Name, render.ComponentAPI),
			Ports: []corev1.ServicePort{{
				Name: PortName, Port: render.APIPort, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString(PortName),
			}},
		},
	}
}

// PDB renders the API's PodDisruptionBudget. A lower bound of one pod must
// still let a node be drained.
func PDB(c *v1alpha1.Cinder) *policyv1.PodDisruptionBudget {
	spec := policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: render.SelectorLabels(c.Name, render.ComponentAPI)},
	}
	if least, _ := c.Spec.EffectiveAPIReplicaBounds(); least > 1 {
		spec.MinAvailable = ptr.To(intstr.FromInt32(1))
	} else {
		spec.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	}
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: meta(c, c.Name, render.Labels(c.Name, render.ComponentAPI)),
		Spec:       spec,
	}
}
