// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// credentials are the variables of every process and Job. oslo.config prefers
// them to any file, so no credential stands in the ConfigMap.
func credentials(c *v1alpha1.Cinder) []corev1.EnvVar {
	env := []corev1.EnvVar{
		fromSecret("OS_DATABASE__CONNECTION", render.DBConnectionName(c.Name), render.KeyConnection),
		fromSecret("OS_DEFAULT__TRANSPORT_URL", render.TransportURLName(c.Name), render.KeyTransportURL),
	}
	if c.Spec.KeystoneEnabled() {
		for _, name := range []string{"OS_KEYSTONE_AUTHTOKEN__PASSWORD", "OS_SERVICE_USER__PASSWORD", "OS_NOVA__PASSWORD"} {
			env = append(env, fromSecret(name, render.ServiceUserName(c.Name), render.KeyPassword))
		}
	}
	return env
}

func fromSecret(name, secret, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret},
			Key:                  key,
		},
	}}
}

// busEnv are the variables of a process that works off the bus.
func busEnv(c *v1alpha1.Cinder, f render.Facts) []corev1.EnvVar {
	return append(credentials(c),
		corev1.EnvVar{Name: "CINDER_AMQP_PORT", Value: strconv.Itoa(int(f.EffectiveBrokerPort()))})
}

// busReady asks whether the process holds a connection to the broker. There is
// no liveness probe beside it: a restart would not bring the broker back.
func busReady() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"cinder-amqp-ready"}}},
		InitialDelaySeconds: 5,
		PeriodSeconds:       10,
		TimeoutSeconds:      5,
		FailureThreshold:    3,
	}
}
