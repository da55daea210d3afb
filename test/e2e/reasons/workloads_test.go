// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

var workloadCases = []testCase{{"workloads", plain, (*fixture).workloads}}

// workloads find no node first; then all is well; then what the cluster does not
// serve is asked for.
func (f *fixture) workloads() {
	f.serviceUser()
	f.create(withKeystone, func(c *v1alpha1.Cinder) {
		nowhere := v1alpha1.DeploymentSpec{NodeSelector: map[string]string{"example.org/nowhere": "true"}}
		c.Spec.API, c.Spec.Scheduler = &v1alpha1.APISpec{Deployment: nowhere.DeepCopy()}, &v1alpha1.SchedulerSpec{Deployment: nowhere.DeepCopy()}
		c.Spec.Volume, c.Spec.Backup = &v1alpha1.VolumeSpec{Deployment: nowhere.DeepCopy()}, &v1alpha1.BackupSpec{Deployment: nowhere.DeepCopy()}
		// Jobs would go where the API goes.
		c.Spec.Jobs = &v1alpha1.JobSpec{NodeSelector: map[string]string{corev1.LabelOSStable: "linux"}}
	})
	lab.Hub.Create(f, harness.Backend(f.cinder, "nfs"))
	lab.Hub.Create(f, harness.BackupBackend(f.cinder, "backups"))
	f.says(
		not(v1alpha1.ConditionSchedulerReady, v1alpha1.ReasonWaitingForScheduler), not(v1alpha1.ConditionVolumeServicesReady, v1alpha1.ReasonWaitingForVolumeServices),
		not(v1alpha1.ConditionBackupServiceReady, v1alpha1.ReasonWaitingForBackupService), not(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonWaitingForDeployment),
	)
	f.change(func(c *v1alpha1.Cinder) {
		c.Spec.API, c.Spec.Scheduler, c.Spec.Volume, c.Spec.Backup = nil, nil, nil, nil
	})
	f.says(
		is(v1alpha1.ConditionSchedulerReady, v1alpha1.ReasonSchedulerReady), is(v1alpha1.ConditionVolumeServicesReady, v1alpha1.ReasonAllVolumeServicesReady),
		is(v1alpha1.ConditionBackupServiceReady, v1alpha1.ReasonBackupServiceReady), is(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonDeploymentReady),
		is(v1alpha1.ConditionHTTPRouteReady, v1alpha1.ReasonHTTPRouteNotRequired), is(v1alpha1.ConditionHPAReady, v1alpha1.ReasonHPANotRequired),
		is(v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPANotRequired), is(v1alpha1.ConditionNetworkPolicyReady, v1alpha1.ReasonNetworkPolicyNotRequired),
		is(v1alpha1.ConditionReady, v1alpha1.ReasonAllReady),
	)
	f.change(func(c *v1alpha1.Cinder) { withGateway(c); withVPA(c) })
	f.says(not(v1alpha1.ConditionHTTPRouteReady, v1alpha1.ReasonGatewayAPINotInstalled), not(v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPANotInstalled))
}

func withGateway(c *v1alpha1.Cinder) {
	c.Spec.Gateway = &v1alpha1.GatewaySpec{Hostname: "volume.example.org", ParentRef: v1alpha1.GatewayParentRefSpec{Name: "gw"}}
}

func withVPA(c *v1alpha1.Cinder) {
	c.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{
		VerticalAutoscaling: &v1alpha1.VerticalAutoscalingSpec{UpdateMode: v1alpha1.VerticalAutoscalingOff},
	}}
}

func withHPA(c *v1alpha1.Cinder) {
	c.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 5, TargetCPUUtilization: ptr.To[int32](80)}
}

func withNetworkPolicy(c *v1alpha1.Cinder) {
	c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{
		{NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"example.org/clients": "true"}}},
	}}
}
