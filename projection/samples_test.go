// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"c5c3.io/cinder-operator/projection"
)

func sampleMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{"app.kubernetes.io/name": "cinder", "app.kubernetes.io/instance": "cinder"},
		Annotations: map[string]string{"example.org/note": "as intended"},
	}
}

func selector() map[string]string { return map[string]string{"app.kubernetes.io/instance": "cinder"} }

func podTemplate(restart corev1.RestartPolicy) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: selector()},
		Spec: corev1.PodSpec{
			RestartPolicy: restart,
			Containers: []corev1.Container{{
				Name:  "api",
				Image: "registry.example.org/cinder:1",
				Env:   []corev1.EnvVar{{Name: "A", Value: "1"}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("1000m"),
				}},
				Ports:        []corev1.ContainerPort{{ContainerPort: 8776}},
				VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
			}},
			Volumes: []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
}

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: sampleMeta(name), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2),
		Selector: &metav1.LabelSelector{MatchLabels: selector()},
		Template: podTemplate(""),
	}}
}

func job(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: sampleMeta(name), Spec: batchv1.JobSpec{
		BackoffLimit: ptr.To[int32](4),
		Template:     podTemplate(corev1.RestartPolicyNever),
	}}
}

func cronJob(name string) *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: sampleMeta(name), Spec: batchv1.CronJobSpec{
		Schedule: "0 1 * * *",
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			Template: podTemplate(corev1.RestartPolicyNever),
		}},
	}}
}

func service(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: sampleMeta(name), Spec: corev1.ServiceSpec{
		Selector: selector(),
		Ports:    []corev1.ServicePort{{Name: "api", Port: 8776}},
	}}
}

func secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: sampleMeta(name), Data: map[string][]byte{"key": []byte("value")}}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: sampleMeta(name), Data: map[string]string{"key": "value"}}
}

func budget(name string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: sampleMeta(name), Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: ptr.To(intstr.FromInt32(1)),
		Selector:     &metav1.LabelSelector{MatchLabels: selector()},
	}}
}

func autoscaler(name string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: sampleMeta(name), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
		MinReplicas:    ptr.To[int32](2),
		MaxReplicas:    5,
	}}
}

func networkPolicy(name string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: sampleMeta(name), Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: selector()},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{}},
	}}
}

func route(name string) *gatewayv1.HTTPRoute {
	return &gatewayv1.HTTPRoute{ObjectMeta: sampleMeta(name), Spec: gatewayv1.HTTPRouteSpec{
		CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "public"}}},
		Hostnames:       []gatewayv1.Hostname{"volume.example.org"},
		Rules: []gatewayv1.HTTPRouteRule{{
			BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
				BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(name), Port: ptr.To[gatewayv1.PortNumber](8776)},
			}}},
		}},
	}}
}

func database(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"mariaDbRef":   map[string]any{"name": "mariadb"},
		"name":         "cinder",
		"characterSet": "utf8mb4",
	}}}
	u.SetGroupVersionKind(projection.MariaDBDatabase)
	u.SetName(name)
	u.SetLabels(sampleMeta(name).Labels)
	u.SetAnnotations(sampleMeta(name).Annotations)
	return u
}

// podAutoscaler is of the optional kind that the API server does not serve.
func podAutoscaler(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetGroupVersionKind(projection.VerticalPodAutoscaler)
	u.SetName(name)
	return u
}

// sample is one kind: an object as intended and an edit of a field of it.
type sample struct {
	kind string
	make func(name string) client.Object
	edit func(client.Object)
}

// samples has every kind that the API server of the tests serves.
func samples() []sample {
	return []sample{
		{"Deployment", func(n string) client.Object { return deployment(n) }, func(o client.Object) {
			o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = "registry.example.org/other:2"
		}},
		{"Service", func(n string) client.Object { return service(n) }, func(o client.Object) {
			o.(*corev1.Service).Spec.Selector = map[string]string{"app": "other"}
		}},
		{"ConfigMap", func(n string) client.Object { return configMap(n) }, func(o client.Object) {
			o.(*corev1.ConfigMap).Data["key"] = "other"
		}},
		{"Secret", func(n string) client.Object { return secret(n) }, func(o client.Object) {
			o.(*corev1.Secret).Data["key"] = []byte("other")
		}},
		{"Job", func(n string) client.Object { return job(n) }, func(o client.Object) {
			o.(*batchv1.Job).Spec.BackoffLimit = ptr.To[int32](1)
		}},
		{"CronJob", func(n string) client.Object { return cronJob(n) }, func(o client.Object) {
			o.(*batchv1.CronJob).Spec.Schedule = "0 2 * * *"
		}},
		{"PodDisruptionBudget", func(n string) client.Object { return budget(n) }, func(o client.Object) {
			o.(*policyv1.PodDisruptionBudget).Spec.MinAvailable = ptr.To(intstr.FromInt32(7))
		}},
		{"HorizontalPodAutoscaler", func(n string) client.Object { return autoscaler(n) }, func(o client.Object) {
			o.(*autoscalingv2.HorizontalPodAutoscaler).Spec.MaxReplicas = 9
		}},
		{"NetworkPolicy", func(n string) client.Object { return networkPolicy(n) }, func(o client.Object) {
			o.(*networkingv1.NetworkPolicy).Spec.Ingress = nil
		}},
		{"HTTPRoute", func(n string) client.Object { return route(n) }, func(o client.Object) {
			o.(*gatewayv1.HTTPRoute).Spec.Hostnames[0] = "other.example.org"
		}},
		{"Database", func(n string) client.Object { return database(n) }, func(o client.Object) {
			spec := o.(*unstructured.Unstructured).Object["spec"].(map[string]any)
			spec["characterSet"] = "latin1"
		}},
	}
}
