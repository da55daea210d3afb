// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// served is what one discovery of a cluster found. It is never changed after it was made.
type served struct {
	kinds  map[schema.GroupVersionKind]bool // the value tells whether the kind is namespaced
	failed map[schema.GroupVersion]error
	mapper *meta.DefaultRESTMapper
	// weight is about what it takes in memory, in bytes.
	weight int64
}

// discover asks a cluster what it serves, for as long as limit. Groups whose own server does not answer keep what old knew
// of them: an aggregated API that is down for a minute does not make its kinds disappear.
func discover(ctx context.Context, cfg *rest.Config, httpClient *http.Client, limit time.Duration, old *served) (*served, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errDeadline)
	defer cancel()
	found, err := announced(ctx, cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("discover the served kinds: %w", err)
	}
	s := &served{kinds: map[schema.GroupVersionKind]bool{}, failed: found.failed}
	s.mapper = meta.NewDefaultRESTMapper(preferred(found.groups))
	for gv, list := range found.resources {
		for i := range list.APIResources {
			s.add(gv, &list.APIResources[i])
		}
	}
	for gv := range s.failed {
		s.keep(gv, old)
	}
	if len(s.kinds) > announcedKinds {
		return nil, fmt.Errorf("discover the served kinds: %w", errAnnounced)
	}
	return s, nil
}

func preferred(groups []metav1.APIGroup) []schema.GroupVersion {
	var out []schema.GroupVersion
	for i := range groups {
		group := &groups[i]
		first := group.PreferredVersion.Version
		if first != "" {
			out = append(out, schema.GroupVersion{Group: group.Name, Version: first})
		}
		for _, v := range group.Versions {
			if v.Version != first {
				out = append(out, schema.GroupVersion{Group: group.Name, Version: v.Version})
			}
		}
	}
	return out
}

func (s *served) add(gv schema.GroupVersion, r *metav1.APIResource) {
	if strings.Contains(r.Name, "/") {
		return
	}
	gvk := gv.WithKind(r.Kind)
	s.kinds[gvk] = r.Namespaced
	s.weight += objectCost + int64(len(gv.Group)+len(gv.Version)+len(r.Name)+len(r.SingularName)+len(r.Kind))
	scope := meta.RESTScope(meta.RESTScopeRoot)
	if r.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	singular := r.SingularName
	if singular == "" {
		singular = strings.ToLower(r.Kind)
	}
	s.mapper.AddSpecific(gvk, gv.WithResource(r.Name), gv.WithResource(singular), scope)
	// A cache that is limited to namespaces asks for the scope of the list's own kind.
	s.mapper.Add(gv.WithKind(r.Kind+"List"), scope)
}

func (s *served) keep(gv schema.GroupVersion, old *served) {
	if old == nil {
		return
	}
	for gvk := range old.kinds {
		if gvk.GroupVersion() != gv {
			continue
		}
		if m, err := old.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
			s.add(gv, &metav1.APIResource{
				Name: m.Resource.Resource, Kind: gvk.Kind, Namespaced: m.Scope.Name() == meta.RESTScopeNameNamespace,
			})
		}
	}
}

// has answers whether the kind is served. The error says that its group did not answer.
func (s *served) has(gvk schema.GroupVersionKind) (bool, error) {
	if s == nil {
		return false, errors.New("the cluster was not asked yet what it serves")
	}
	if _, ok := s.kinds[gvk]; ok {
		return true, nil
	}
	if err, ok := s.failed[gvk.GroupVersion()]; ok {
		return false, fmt.Errorf("discover %s: %w", gvk.GroupVersion(), err)
	}
	return false, nil
}

// group answers whether any kind of the group is served.
func (s *served) group(name string) bool {
	for gvk := range s.kinds {
		if gvk.Group == name {
			return true
		}
	}
	return false
}

// The groups whose presence a TargetCluster shows.
const (
	groupGateway         = "gateway.networking.k8s.io"
	groupAutoscalingK8s  = "autoscaling.k8s.io"
	groupMariaDB         = "k8s.mariadb.com"
	groupRabbitMQ        = "rabbitmq.com"
	groupExternalSecrets = "external-secrets.io"
)

func (s *served) capabilities() v1alpha1.TargetClusterCapabilities {
	return v1alpha1.TargetClusterCapabilities{
		GatewayAPI:            s.kind(groupGateway, "HTTPRoute"),
		VerticalPodAutoscaler: s.kind(groupAutoscalingK8s, "VerticalPodAutoscaler"),
		MariaDB:               s.group(groupMariaDB),
		RabbitMQ:              s.kind(groupRabbitMQ, "RabbitmqCluster"),
		ExternalSecrets:       s.group(groupExternalSecrets),
	}
}

func (s *served) kind(group, kind string) bool {
	for gvk := range s.kinds {
		if gvk.Group == group && gvk.Kind == kind {
			return true
		}
	}
	return false
}

// discoMapper is the RESTMapper of a connection: it answers from the last discovery and never calls. controller-runtime's
// own mapper asks the cluster without a context, while the cache that needs the answer holds its lock.
type discoMapper struct {
	current atomic.Pointer[served]
	// onMiss is told of every kind that is not known; a discovery is due then.
	onMiss func()
}

var _ meta.RESTMapper = (*discoMapper)(nil)

var emptyMapper = meta.NewDefaultRESTMapper(nil)

func (m *discoMapper) now() meta.RESTMapper {
	if s := m.current.Load(); s != nil {
		return s.mapper
	}
	return emptyMapper
}

func missed[T any](m *discoMapper, v T, err error) (T, error) {
	if meta.IsNoMatchError(err) && m.onMiss != nil {
		m.onMiss()
	}
	return v, err
}

// KindFor is part of meta.RESTMapper.
func (m *discoMapper) KindFor(r schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	v, err := m.now().KindFor(r)
	return missed(m, v, err)
}

// KindsFor is part of meta.RESTMapper.
func (m *discoMapper) KindsFor(r schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	v, err := m.now().KindsFor(r)
	return missed(m, v, err)
}

// ResourceFor is part of meta.RESTMapper.
func (m *discoMapper) ResourceFor(r schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	v, err := m.now().ResourceFor(r)
	return missed(m, v, err)
}

// ResourcesFor is part of meta.RESTMapper.
func (m *discoMapper) ResourcesFor(r schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	v, err := m.now().ResourcesFor(r)
	return missed(m, v, err)
}

// RESTMapping is part of meta.RESTMapper.
func (m *discoMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	v, err := m.now().RESTMapping(gk, versions...)
	return missed(m, v, err)
}

// RESTMappings is part of meta.RESTMapper.
func (m *discoMapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	v, err := m.now().RESTMappings(gk, versions...)
	return missed(m, v, err)
}

// ResourceSingularizer is part of meta.RESTMapper.
func (m *discoMapper) ResourceSingularizer(resource string) (string, error) {
	return m.now().ResourceSingularizer(resource)
}
