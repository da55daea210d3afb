// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkPolicySpec shapes the NetworkPolicy of the Cinder's pods. Egress to
// DNS, the database, memcached, the broker, the endpoints and the storage the
// spec names is derived; everything else is closed.
//
// +kubebuilder:validation:XValidation:rule="has(self.ingress) && size(self.ingress) > 0",message="at least one ingress source must be specified"
type NetworkPolicySpec struct {
	// ingress are the sources that may reach the API's port. At least one is
	// needed: an empty list would admit nobody, or, misread, everybody.
	// +optional
	// +listType=atomic
	Ingress []NetworkPolicyIngressSource `json:"ingress,omitempty"`

	// additionalEgress are rules that are appended to the derived ones as they
	// are.
	// +optional
	// +listType=atomic
	AdditionalEgress []networkingv1.NetworkPolicyEgressRule `json:"additionalEgress,omitempty"`
}

// NetworkPolicyIngressSource selects pods that may reach the API.
type NetworkPolicyIngressSource struct {
	// namespaceSelector selects the namespaces the pods are in. {} selects all.
	// +required
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`

	// podSelector selects pods in those namespaces. Unset selects all.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
}

// GatewaySpec publishes the API through a Gateway, by an HTTPRoute.
type GatewaySpec struct {
	// parentRef names the Gateway.
	// +required
	ParentRef GatewayParentRefSpec `json:"parentRef"`

	// hostname is the host name the API is reached at; status.endpoint is made of
	// it.
	// +required
	// +kubebuilder:validation:MinLength=1
	Hostname string `json:"hostname"`

	// path is the path prefix the API is reached at. Unset stands for /.
	// +optional
	Path string `json:"path,omitempty"`

	// annotations are put on the HTTPRoute.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// GatewayParentRefSpec names a Gateway, and optionally one of its listeners.
type GatewayParentRefSpec struct {
	// name is the Gateway's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// namespace is the Gateway's namespace. Unset stands for the namespace of the
	// Cinder.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// sectionName is the listener's name. Unset attaches the route to every
	// listener that admits it.
	// +optional
	SectionName string `json:"sectionName,omitempty"`
}

// LogFormat is the shape of a log line.
//
// +kubebuilder:validation:Enum=text;json
type LogFormat string

// The log formats.
const (
	LogFormatText LogFormat = "text"
	LogFormatJSON LogFormat = "json"
)

// LogLevel is the least severity that is logged.
//
// +kubebuilder:validation:Enum=DEBUG;INFO;WARNING;ERROR;CRITICAL
type LogLevel string

// The log levels.
const (
	LogLevelDebug    LogLevel = "DEBUG"
	LogLevelInfo     LogLevel = "INFO"
	LogLevelWarning  LogLevel = "WARNING"
	LogLevelError    LogLevel = "ERROR"
	LogLevelCritical LogLevel = "CRITICAL"
)

// LoggingSpec shapes the logs of every process.
type LoggingSpec struct {
	// format is text or json. Unset stands for text.
	// +optional
	Format LogFormat `json:"format,omitempty"`

	// level is the level of the root logger. Unset stands for INFO.
	// +optional
	Level LogLevel `json:"level,omitempty"`

	// debug turns on Cinder's own debug option. Unset stands for false.
	// +optional
	Debug *bool `json:"debug,omitempty"`

	// perLoggerLevels sets the level of single loggers by name, such as
	// oslo.messaging: WARNING.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) > 0)",message="perLoggerLevels must not contain an empty logger name"
	PerLoggerLevels map[string]LogLevel `json:"perLoggerLevels,omitempty"`
}

// PolicyRule is one rule of oslo.policy, such as role:admin.
//
// +kubebuilder:validation:MaxLength=1024
type PolicyRule string

// PolicySpec overrides Cinder's policy. Rules that stand here win over those
// of the ConfigMap.
type PolicySpec struct {
	// rules are policy rules by target, such as volume:create: role:member.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) > 0)",message="policy rule names must not be empty"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) > 0)",message="policy rule values must not be empty"
	Rules map[string]PolicyRule `json:"rules,omitempty"`

	// configMapRef names a ConfigMap that carries further rules under the key
	// policy.yaml.
	// +optional
	ConfigMapRef *ConfigMapRefSpec `json:"configMapRef,omitempty"`
}
