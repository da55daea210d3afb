// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

func TestAnEventMapsToTheOwnerThatItsLabelsName(t *testing.T) {
	child := func(namespace, owner string, labels bool) client.Object {
		o := secret("child")
		o.Namespace = namespace
		if labels {
			o.Labels = map[string]string{
				projection.LabelOwnerKind: "Cinder", projection.LabelOwnerName: owner, projection.LabelOwnerNamespace: "openstack",
			}
		}
		return o
	}
	controlled := child("openstack", "", false)
	controlled.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Cinder", Name: "local", UID: "u", Controller: ptr.To(true)}})
	for _, c := range []struct {
		name string
		ev   clusters.Event
		want string
	}{
		{"created", clusters.Event{Object: child("openstack", "a", true)}, "Cinder openstack/a"},
		{"deleted", clusters.Event{Object: child("openstack", "a", true), Deleted: true}, "Cinder openstack/a"},
		{"labels stripped", clusters.Event{Old: child("openstack", "a", true), Object: child("openstack", "", false)}, "Cinder openstack/a"},
		{"labels put back", clusters.Event{Old: child("openstack", "", false), Object: child("openstack", "a", true)}, "Cinder openstack/a"},
		{"owner edited", clusters.Event{Old: child("openstack", "a", true), Object: child("openstack", "b", true)}, "Cinder openstack/a"},
		{"a local child without labels", clusters.Event{Object: controlled}, "Cinder openstack/local"},
		{"no owner", clusters.Event{Object: child("openstack", "", false)}, ""},
		{"an owner of another namespace", clusters.Event{Object: child("elsewhere", "a", true)}, ""},
		{"no object", clusters.Event{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind, namespace, name, ok := projection.Owners(c.ev)
			got := ""
			if ok {
				got = kind + " " + namespace + "/" + name
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
