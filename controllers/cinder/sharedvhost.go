// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/urls"
	"c5c3.io/cinder-operator/projection"
)

// labelVhost begins the labels by which the derived bus Secrets of two Cinders on
// one virtual host are found: a digest of host and virtual host follows. RPC
// topics are named after the service, not the deployment, so that such Cinders
// answer each other's requests.
const labelVhost = "vhost.cinder.c5c3.io/"

// vhostLabels are the labels of a transport URL, one for each of its hosts. A
// broker that is reached at two ports is one broker.
func vhostLabels(t urls.Transport, namespace string) []string {
	var labels []string
	for _, hostPort := range t.Hosts {
		host, _, err := net.SplitHostPort(hostPort)
		if err != nil {
			host = hostPort
		}
		host = strings.TrimSuffix(strings.TrimSuffix(host, "."), ".cluster.local")
		if !strings.ContainsAny(host, ".:") {
			// A bare name is a Service beside the pods.
			host += "." + namespace + ".svc"
		}
		labels = append(labels, labelVhost+render.Digest(host, t.VirtualHost)[:32])
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// vhostsOf collects the labels of an object that name virtual hosts.
func vhostsOf(objs ...client.Object) map[string]bool {
	found := map[string]bool{}
	for _, obj := range objs {
		if obj == nil {
			continue
		}
		for key := range obj.GetLabels() {
			if strings.HasPrefix(key, labelVhost) {
				found[key] = true
			}
		}
	}
	return found
}

// sharedVhost names the other Cinders on the virtual hosts of this one; empty
// without any. They are told by the derived Secrets, which outlive a restart: a
// memory would forget the neighbours and then warn of them again.
func (r *Reconciler) sharedVhost(ctx context.Context, p *Pass, labels []string) (string, error) {
	others := map[string]bool{}
	for _, label := range labels {
		var list corev1.SecretList
		err := p.Target.Client().List(ctx, &list, client.HasLabels{label})
		var uncached *cache.ErrResourceNotCached
		if errors.As(err, &uncached) {
			p.vhostUnseen = true
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("list the Secrets of a virtual host on %s: %w", p.Target, err)
		}
		for i := range list.Items {
			s := &list.Items[i]
			owner := s.Labels[projection.LabelOwnerName]
			if s.Labels[projection.LabelOwnerKind] != v1alpha1.KindCinder || owner == "" || s.DeletionTimestamp != nil {
				continue
			}
			if s.Namespace != p.Cinder.Namespace || owner != p.Cinder.Name {
				others[s.Namespace+"/"+owner] = true
			}
		}
	}
	if len(others) == 0 {
		return "", nil
	}
	names := make([]string, 0, len(others))
	for name := range others {
		names = append(names, name)
	}
	slices.Sort(names)
	return listNote("the virtual host of the message bus is shared, which mixes up the requests of the services (give every Cinder its own), with Cinder:", names), nil
}

// neighbours maps a change of a derived bus Secret to the Cinders on the same
// virtual hosts, those of before the change included.
func (r *Reconciler) neighbours(ev clusters.Event) []reconcile.Request {
	if _, ok := ev.Object.(*corev1.Secret); !ok {
		return nil
	}
	was, is := vhostsOf(ev.Old), vhostsOf(ev.Object)
	if !ev.Deleted && ev.Old != nil && sameKeys(was, is) {
		return nil
	}
	for key := range was {
		is[key] = true
	}
	if len(is) == 0 {
		return nil
	}
	var reqs []reconcile.Request
	for _, cinder := range r.bus.users(is) {
		reqs = append(reqs, reconcile.Request{NamespacedName: cinder})
	}
	return reqs
}

func sameKeys(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for key := range a {
		if !b[key] {
			return false
		}
	}
	return true
}
