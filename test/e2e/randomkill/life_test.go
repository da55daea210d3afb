// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package randomkill

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// life is one Cinder from its creation to its end. The lives of a lane have the
// same names in the same namespace, so that their traces can be compared.
type life struct {
	cinder        *v1alpha1.Cinder
	first, second *v1alpha1.CinderBackend
	backups       *v1alpha1.CinderBackupBackend
}

func newLife(namespace, target string) *life {
	l := &life{cinder: harness.Cinder(namespace, "cinder", target)}
	l.first, l.second = harness.Backend(l.cinder, "first"), harness.Backend(l.cinder, "second")
	l.backups = harness.BackupBackend(l.cinder, "backups")
	return l
}

func (l *life) satellites() []client.Object { return []client.Object{l.first, l.second, l.backups} }

// stage is one change of a life: what a user does, and when it is done.
type stage struct {
	name string
	do   func(*testing.T, *life)
	done func(context.Context, *life) error
}

var stages = []stage{
	{"install", func(t *testing.T, l *life) {
		for _, obj := range []client.Object{l.cinder, l.first, l.backups} {
			lab.Hub.Create(t, obj)
		}
	}, func(ctx context.Context, l *life) error { return serves(ctx, l, 1, "2026.1", l.first, l.backups) }},

	{"attach", func(t *testing.T, l *life) { lab.Hub.Create(t, l.second) },
		func(ctx context.Context, l *life) error {
			return serves(ctx, l, 2, "2026.1", l.first, l.second, l.backups)
		}},

	{"upgrade", func(t *testing.T, l *life) {
		harness.Change(t, lab.Hub, l.cinder, func(c *v1alpha1.Cinder) { c.Spec.OpenStackRelease, c.Spec.Image.Tag = "2026.2", "2026.2" })
	}, func(ctx context.Context, l *life) error {
		return serves(ctx, l, 2, "2026.2", l.first, l.second, l.backups)
	}},

	{"detach", func(t *testing.T, l *life) { remove(t, l.second) },
		func(ctx context.Context, l *life) error {
			if err := lab.AreGone(ctx, l.second); err != nil {
				return err
			}
			return serves(ctx, l, 1, "2026.2", l.first, l.backups)
		}},

	{"delete", func(t *testing.T, l *life) {
		remove(t, l.cinder)
		remove(t, l.first)
		remove(t, l.backups)
	}, func(ctx context.Context, l *life) error { return lab.AreGone(ctx, append(l.satellites(), l.cinder)...) }},
}

// serves complains about a Cinder that is not Ready with so many volume services
// at that release.
func serves(ctx context.Context, l *life, volumes int, release string, satellites ...client.Object) error {
	if err := lab.AreReady(ctx, append(satellites, l.cinder)...); err != nil {
		return err
	}
	s := l.cinder.Status
	if len(s.VolumeServices) != volumes || s.InstalledRelease != release || s.UpgradePhase != "" {
		return fmt.Errorf("volume services %v, release %q, phase %q; want %d at %s", s.VolumeServices, s.InstalledRelease, s.UpgradePhase, volumes, release)
	}
	return nil
}

// remove deletes a resource and leaves obj, which identifies its events, alone.
func remove(t *testing.T, obj client.Object) {
	t.Helper()
	gone, _ := obj.DeepCopyObject().(client.Object)
	lab.Hub.Delete(t, gone)
}
