// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func quantities(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func spreadBy(labels map[string]string) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
	}}
}

// Each case changes the block of the API.
func TestRulesOfADeploymentBesideTheSchema(t *testing.T) {
	type D = v1alpha1.DeploymentSpec
	tolerate := func(toleration corev1.Toleration) func(*D) {
		return func(d *D) { d.Tolerations = []corev1.Toleration{toleration} }
	}
	const at = "spec.api.deployment"
	own := map[string]string{labelName: "cinder", labelInstance: "cinder", labelComponent: "api"}
	const foreign = at + ".topologySpreadConstraints[0].labelSelector: must match the Deployment's own pods and no others: app.kubernetes.io/name=cinder, app.kubernetes.io/instance=cinder, app.kubernetes.io/component=api"
	for name, tc := range map[string]struct {
		change func(*D)
		want   []string
	}{
		"requests within limits": {change: func(d *D) {
			d.Resources = &corev1.ResourceRequirements{Requests: quantities("cpu", "1", "memory", "1Gi"), Limits: quantities("cpu", "1000m", "memory", "2Gi")}
		}},
		"requests without limits": {change: func(d *D) {
			d.Resources = &corev1.ResourceRequirements{Requests: quantities("cpu", "64")}
		}},
		"requests beyond limits": {change: func(d *D) {
			d.Resources = &corev1.ResourceRequirements{Requests: quantities("cpu", "2", "memory", "3Gi"), Limits: quantities("cpu", "1", "memory", "2Gi")}
		}, want: []string{
			at + ".resources.requests[cpu]: must be less than or equal to cpu limit of 1",
			at + ".resources.requests[memory]: must be less than or equal to memory limit of 2Gi",
		}},
		"resources below zero": {change: func(d *D) {
			d.Resources = &corev1.ResourceRequirements{Requests: quantities("cpu", "-2"), Limits: quantities("cpu", "-1")}
		}, want: []string{
			at + ".resources.limits[cpu]: must be greater than or equal to 0",
			at + ".resources.requests[cpu]: must be greater than or equal to 0",
		}},
		"constraints that count the own pods": {change: func(d *D) { d.TopologySpreadConstraints = spreadBy(own) }},
		"a constraint that counts every pod of the Cinder": {change: func(d *D) {
			d.TopologySpreadConstraints = spreadBy(map[string]string{labelInstance: "cinder"})
		}, want: []string{foreign}},
		"a constraint that counts another component": {change: func(d *D) {
			d.TopologySpreadConstraints = spreadBy(map[string]string{labelName: "cinder", labelInstance: "cinder", labelComponent: "scheduler"})
		}, want: []string{foreign}},
		"a constraint that counts another Cinder": {change: func(d *D) {
			d.TopologySpreadConstraints = spreadBy(map[string]string{labelName: "cinder", labelInstance: "other", labelComponent: "api"})
		}, want: []string{foreign}},
		"a constraint without a selector": {change: func(d *D) {
			d.TopologySpreadConstraints = spreadBy(own)
			d.TopologySpreadConstraints[0].LabelSelector = nil
		}, want: []string{foreign}},
		"a constraint with a broken selector": {change: func(d *D) {
			d.TopologySpreadConstraints = spreadBy(map[string]string{"a b": "c"})
		}, want: []string{at + ".topologySpreadConstraints[0].labelSelector: "}},
		"a node selector": {change: func(d *D) { d.NodeSelector = map[string]string{"example.org/disk": "ssd", "empty": ""} }},
		"a node selector that no label can have": {change: func(d *D) {
			d.NodeSelector = map[string]string{"a b": "c"}
		}, want: []string{at + ".nodeSelector: name part must consist of"}},
		"a node selector whose value no label can have": {change: func(d *D) {
			d.NodeSelector = map[string]string{"a": "b c"}
		}, want: []string{at + ".nodeSelector: a valid label must be"}},
		"a toleration of everything":          {change: tolerate(corev1.Toleration{Operator: corev1.TolerationOpExists})},
		"a toleration of a value":             {change: tolerate(corev1.Toleration{Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](5)})},
		"a toleration of a number":            {change: tolerate(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpGt, Value: "5"})},
		"a toleration of nothing":             {change: tolerate(corev1.Toleration{}), want: []string{at + ".tolerations[0].operator: operator must be Exists when"}},
		"a toleration of any key by value":    {change: tolerate(corev1.Toleration{Operator: corev1.TolerationOpEqual, Value: "b"}), want: []string{at + ".tolerations[0].operator: operator must be Exists when"}},
		"a toleration with a broken key":      {change: tolerate(corev1.Toleration{Key: "a b", Operator: corev1.TolerationOpExists}), want: []string{at + ".tolerations[0].key: name part must consist of"}},
		"a toleration with a broken value":    {change: tolerate(corev1.Toleration{Key: "a", Value: "b c"}), want: []string{at + ".tolerations[0].value: a valid label must be"}},
		"a toleration of existence and value": {change: tolerate(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Value: "b"}), want: []string{at + ".tolerations[0].value: value must be empty when"}},
		"a toleration with seconds alone":     {change: tolerate(corev1.Toleration{Key: "a", Value: "b", TolerationSeconds: ptr.To[int64](5)}), want: []string{at + ".tolerations[0].effect: effect must be 'NoExecute' when"}},
		"a toleration with another operator":  {change: tolerate(corev1.Toleration{Key: "a", Operator: "In"}), want: []string{at + ".tolerations[0].operator: Unsupported value: \"In\": supported values: \"Equal\", \"Exists\""}},
		"a toleration with another effect":    {change: tolerate(corev1.Toleration{Key: "a", Value: "b", Effect: "Never"}), want: []string{at + ".tolerations[0].effect: Unsupported value: \"Never\""}},
		"vertical autoscaling within bounds": {change: func(d *D) {
			d.VerticalAutoscaling = &v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Off", MinAllowed: quantities("cpu", "1"), MaxAllowed: quantities("cpu", "1", "memory", "1Gi")}
		}},
		"vertical autoscaling with crossed bounds": {change: func(d *D) {
			d.VerticalAutoscaling = &v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Off", MinAllowed: quantities("memory", "2Gi"), MaxAllowed: quantities("memory", "1Gi")}
		}, want: []string{at + ".verticalAutoscaling.minAllowed[memory]: minAllowed must not exceed maxAllowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := newCinder()
			obj.Spec.API = &v1alpha1.APISpec{Deployment: &v1alpha1.DeploymentSpec{}}
			tc.change(obj.Spec.API.Deployment)
			_, errs := ValidateCinder(obj, nil, CinderFacts{})
			wantErrors(t, errs, tc.want)
		})
	}
}

func TestServicesWithAHostIdentityTakeNoSpreadConstraints(t *testing.T) {
	obj := newCinder()
	obj.Spec.Volume = &v1alpha1.VolumeSpec{Deployment: &v1alpha1.DeploymentSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{}}}
	obj.Spec.Backup = &v1alpha1.BackupSpec{Deployment: &v1alpha1.DeploymentSpec{Strategy: &appsv1.DeploymentStrategy{}}}
	if _, errs := ValidateCinder(obj, nil, CinderFacts{}); len(errs) > 0 {
		t.Errorf("an empty list is rejected:\n%s", list(errs))
	}
	constraints := spreadBy(map[string]string{labelName: "cinder"})
	obj.Spec.Volume.Deployment.TopologySpreadConstraints = constraints
	obj.Spec.Backup.Deployment.TopologySpreadConstraints = constraints
	_, errs := ValidateCinder(obj, nil, CinderFacts{})
	const message = ".deployment.topologySpreadConstraints: volume/backup deployments take no topology spread constraints"
	wantErrors(t, errs, []string{"spec.volume" + message, "spec.backup" + message})
}

func TestJobsAreJudgedByTheSameRules(t *testing.T) {
	obj := newCinder()
	obj.Spec.Jobs = &v1alpha1.JobSpec{
		Resources:    &corev1.ResourceRequirements{Requests: quantities("cpu", "2"), Limits: quantities("cpu", "1")},
		NodeSelector: map[string]string{"a b": "c"},
		Tolerations:  []corev1.Toleration{{}},
	}
	_, errs := ValidateCinder(obj, nil, CinderFacts{})
	wantErrors(t, errs, []string{
		"spec.jobs.resources.requests[cpu]: must be less than or equal to cpu limit of 1",
		"spec.jobs.nodeSelector: name part must consist of",
		"spec.jobs.tolerations[0].operator: operator must be Exists when",
	})
}

func TestARequestIsGivenUpBeforeItsPodIs(t *testing.T) {
	for name, tc := range map[string]struct {
		harakiri, grace, preStop int64
		ok                       bool
	}{
		"within the default window":        {24, 0, -1, true},
		"at the end of the default one":    {25, 0, -1, false},
		"within a longer window":           {54, 60, 5, true},
		"at the end of a longer one":       {55, 60, 5, false},
		"in what a longer sleep leaves":    {10, 30, 20, false},
		"a sleep of nothing leaves it all": {29, 30, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			obj := newCinder()
			obj.Spec.API = &v1alpha1.APISpec{Deployment: &v1alpha1.DeploymentSpec{}, UWSGI: &v1alpha1.UWSGISpec{Harakiri: ptr.To(int32(tc.harakiri))}}
			if tc.grace > 0 {
				obj.Spec.API.Deployment.TerminationGracePeriodSeconds = &tc.grace
			}
			if tc.preStop >= 0 {
				obj.Spec.API.Deployment.PreStopSleepSeconds = &tc.preStop
			}
			var want []string
			if !tc.ok {
				want = []string{"spec.api.uwsgi.harakiri: harakiri must be strictly less than the drain window"}
			}
			_, errs := ValidateCinder(obj, nil, CinderFacts{})
			wantErrors(t, errs, want)
		})
	}
}

func TestAnAutoscalerIsOnlyGivenWhatItCanReach(t *testing.T) {
	window := func(seconds int32) *autoscalingv2.HorizontalPodAutoscalerBehavior {
		return &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleUp: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &seconds}, ScaleDown: &autoscalingv2.HPAScalingRules{},
		}
	}
	for name, tc := range map[string]struct {
		cpu, memory int32
		resources   *corev1.ResourceRequirements
		behavior    *autoscalingv2.HorizontalPodAutoscalerBehavior
		want        []string
	}{
		"CPU at the default request":      {cpu: 80},
		"CPU above its request":           {cpu: 400},
		"memory at the default figure":    {memory: 100},
		"memory above the default figure": {memory: 101, want: []string{"spec.autoscaling.targetMemoryUtilization: can never be reached: the memory limit is 720Mi at a request of 720Mi"}},
		"CPU up to its limit":             {cpu: 200, resources: &corev1.ResourceRequirements{Requests: quantities("cpu", "500m"), Limits: quantities("cpu", "1")}},
		"CPU above its limit":             {cpu: 201, resources: &corev1.ResourceRequirements{Requests: quantities("cpu", "500m"), Limits: quantities("cpu", "1")}, want: []string{"spec.autoscaling.targetCPUUtilization: can never be reached"}},
		"a limit alone is the request":    {cpu: 101, resources: &corev1.ResourceRequirements{Limits: quantities("cpu", "1")}, want: []string{"spec.autoscaling.targetCPUUtilization: can never be reached"}},
		"a request of nothing":            {cpu: 80, resources: &corev1.ResourceRequirements{Requests: quantities("cpu", "0")}, want: []string{"spec.autoscaling.targetCPUUtilization: needs a cpu request above zero"}},
		"memory without a limit":          {memory: 300, resources: &corev1.ResourceRequirements{Requests: quantities("memory", "1Gi")}},
		"a window of an hour":             {cpu: 80, behavior: window(3600)},
		"a window of no time":             {cpu: 80, behavior: window(0)},
		"a window of more than an hour":   {cpu: 80, behavior: window(3601), want: []string{"spec.autoscaling.behavior.scaleUp.stabilizationWindowSeconds: stabilizationWindowSeconds must be between 0 and 3600"}},
		"a window of less than no time":   {cpu: 80, behavior: window(-1), want: []string{"spec.autoscaling.behavior.scaleUp.stabilizationWindowSeconds: stabilizationWindowSeconds must be between 0 and 3600"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := newCinder()
			obj.Spec.API = &v1alpha1.APISpec{Deployment: &v1alpha1.DeploymentSpec{Resources: tc.resources}}
			obj.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 5, Behavior: tc.behavior}
			if tc.cpu > 0 {
				obj.Spec.Autoscaling.TargetCPUUtilization = &tc.cpu
			}
			if tc.memory > 0 {
				obj.Spec.Autoscaling.TargetMemoryUtilization = &tc.memory
			}
			_, errs := ValidateCinder(obj, nil, CinderFacts{})
			wantErrors(t, errs, tc.want)
		})
	}
}

func TestPeersOfANetworkPolicyAreSelectors(t *testing.T) {
	obj := newCinder()
	obj.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{
		{PodSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In"}}}},
	}}
	_, errs := ValidateCinder(obj, nil, CinderFacts{})
	wantErrors(t, errs, []string{"spec.networkPolicy.ingress[0].podSelector.matchExpressions[0].values: must be specified when"})
}
