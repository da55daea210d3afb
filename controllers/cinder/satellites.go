// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/conf"
)

// credentialState is what a satellite's CredentialsReady means for its parent.
type credentialState int

const (
	// credentialsWaiting: not usable, as read over a working connection, or not
	// looked at yet. Nothing is projected.
	credentialsWaiting credentialState = iota
	// credentialsReady: the satellite can be rendered.
	credentialsReady
	// credentialsUnknown: they could not be read. A failed read is no answer:
	// what is live stays live.
	credentialsUnknown
)

func credentialsOf(conds []metav1.Condition) (credentialState, string) {
	c := meta.FindStatusCondition(conds, v1alpha1.ConditionCredentialsReady)
	if c == nil {
		return credentialsUnknown, "its credentials have not been looked at yet"
	}
	switch {
	case c.Status == metav1.ConditionTrue:
		return credentialsReady, ""
	case c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonWaitingForCredentials:
		return credentialsWaiting, c.Message
	}
	return credentialsUnknown, c.Message
}

// isRevision tells whether name is a revision of base: the base and one more
// part. A base that continues another one's name is not mistaken for it.
func isRevision(name, base string) bool {
	digest, ok := strings.CutPrefix(name, base+"-")
	return ok && digest != "" && !strings.Contains(digest, "-")
}

// secretData turns rendered files into a Secret's data: stringData would leave
// the stored keys without an owner.
func secretData(files map[string]string) map[string][]byte {
	data := make(map[string][]byte, len(files))
	for key, text := range files {
		data[key] = []byte(text)
	}
	return data
}

func sortedByName[T any](items []T, name func(*T) string) []T {
	slices.SortFunc(items, func(a, b T) int { return strings.Compare(name(&a), name(&b)) })
	return items
}

// cephKey reads the cephx key of an RBD satellite; without a pool there is none
// to read. A key that vanished or became unusable since the satellite's own
// controller looked is a fault of that satellite. The fault names the Secret and
// the data key, never a key.
func cephKey(ctx context.Context, p *Pass, pool *v1alpha1.RBDPoolSpec) (key, fault string, err error) {
	if pool == nil {
		return "", "", nil
	}
	at := types.NamespacedName{Namespace: p.Cinder.Namespace, Name: pool.KeySecretRef.Name}
	secret, err := p.Target.Inputs().Secret(ctx, at)
	if apierrors.IsNotFound(err) {
		return "", fmt.Sprintf("Secret %q, which carries the %s, does not exist on %s", at.Name, conf.UserKey, p.Target), nil
	}
	if err != nil {
		return "", "", fmt.Errorf("get Secret %s on %s: %w", at, p.Target, err)
	}
	raw, ok := secret.Data[conf.UserKey]
	if !ok {
		return "", fmt.Sprintf("Secret %q carries no %s", at.Name, conf.UserKey), nil
	}
	key, fault = rendered(conf.CephKey(at.Name, raw))
	return key, fault, nil
}

// projectedKey reads the key back from a live projection whose source cannot be
// read now; empty for one without.
func projectedKey(ctx context.Context, p *Pass, secret string) (string, error) {
	var live corev1.Secret
	if err := p.Scope.Get(ctx, secret, &live); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return conf.KeyringKey(string(live.Data[render.KeyKeyring])), nil
}

// rendered turns the error of a renderer into a fault of what it renders.
func rendered[T any](out T, err error) (T, string) {
	if err != nil {
		return *new(T), err.Error()
	}
	return out, ""
}

// skipped tells of a satellite that cannot be rendered, once per fault.
func (r *Reconciler) skipped(p *Pass, typ, event, kind, name, fault string) {
	f := lasting{event, name}
	if p.skipped == nil {
		p.skipped = map[lasting]bool{}
	}
	p.skipped[f] = true
	stored := meta.FindStatusCondition(p.stored, typ)
	// The blank keeps a name apart from one that ends in it.
	r.warnOnce(p, f, p.satellite(kind, name), fmt.Sprintf("%s %s is skipped: %s", kind, name, fault), stored != nil && strings.Contains(stored.Message, " "+skippedText(name, fault)))
}

// skippedText is how a condition's message tells of a skipped satellite: by it
// the next process knows that the event was given.
func skippedText(name, fault string) string { return fmt.Sprintf("%s (skipped: %s)", name, fault) }
