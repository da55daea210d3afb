// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import "c5c3.io/cinder-operator/api/v1alpha1"

// MaxUserConnections is the connection cap of the managed database user: two
// pooled connections for each API worker of every pod and one surge pod, two
// for each scheduler pod, volume service and the backup service, and two for a
// migration Job beside them. A cap below what runs makes the last process crash
// at its start, so the API counts with the most pods autoscaling may reach. It
// saturates instead of overflowing.
func MaxUserConnections(c *v1alpha1.Cinder, volumeServices int) int32 {
	const most = 1<<31 - 1
	_, pods := c.Spec.EffectiveAPIReplicaBounds()
	uwsgi := c.Spec.EffectiveUWSGI()
	workers := (float64(pods) + 1) * float64(uwsgi.Processes) * float64(uwsgi.Threads) * 2
	others := 2*(int64(c.Spec.EffectiveReplicas(v1alpha1.ComponentScheduler))+int64(volumeServices)+1) + 2
	if total := workers + float64(others); total < most {
		return int32(total)
	}
	return most
}
