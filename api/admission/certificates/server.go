// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Certificate is the certificate that the webhooks are served with. It is empty until the Secret was seen.
type Certificate struct {
	opts   Options
	log    logr.Logger
	served atomic.Pointer[served]
	// changed has room for one: whoever is told looks at everything.
	changed chan struct{}
}

// New returns the certificate of an installation. The webhook server is made with its Configure before there is a manager;
// SetupWithManager starts it.
func New(opts Options) (*Certificate, error) {
	if opts.Namespace == "" || opts.Name == "" {
		return nil, errors.New("certificates: namespace and name are required")
	}
	return &Certificate{opts: opts.withDefaults(), log: logr.Discard(), changed: make(chan struct{}, 1)}, nil
}

// served is the Secret's certificate, and the one that is presented in its place until a time that is past for most.
type served struct {
	newest, before *tls.Certificate
	until          time.Time
}

// current is the certificate to present now, and nil while there is none.
func (c *Certificate) current() *tls.Certificate {
	if all := c.served.Load().all(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// all answers the certificate to present now, and what follows it later.
func (s *served) all() []*tls.Certificate {
	switch {
	case s == nil:
		return nil
	case s.before != nil && time.Now().Before(s.until):
		return []*tls.Certificate{s.before, s.newest}
	}
	return []*tls.Certificate{s.newest}
}

// Configure makes a TLS server present the certificate that is current when a connection is opened.
func (c *Certificate) Configure(config *tls.Config) {
	config.MinVersion = tls.VersionTLS12
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if current := c.current(); current != nil {
			return current, nil
		}
		return nil, fmt.Errorf("there is no certificate in Secret %s/%s yet", c.opts.Namespace, c.opts.SecretName())
	}
}

// Check is a readiness check: it fails until there is a certificate, and while the one there is has ended.
func (c *Certificate) Check(*http.Request) error {
	current := c.current()
	switch {
	case current == nil:
		return fmt.Errorf("there is no certificate in Secret %s/%s yet", c.opts.Namespace, c.opts.SecretName())
	case time.Now().After(current.Leaf.NotAfter):
		return fmt.Errorf("the certificate in Secret %s/%s has ended", c.opts.Namespace, c.opts.SecretName())
	}
	return nil
}

// SetupWithManager follows the Secret on every replica, and keeps it on the elected one where the options say so.
func (c *Certificate) SetupWithManager(mgr manager.Manager) error {
	c.log = mgr.GetLogger().WithName("webhook-certificates")
	objects := []client.Object{&corev1.Secret{}}
	byObject := map[client.Object]cache.ByObject{
		// Selected by name, so that the right to read this one Secret is enough.
		objects[0]: {Namespaces: map[string]cache.Config{c.opts.Namespace: {FieldSelector: named(c.opts.SecretName())}}},
	}
	if c.opts.Rotate {
		for _, obj := range []client.Object{
			&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{},
		} {
			objects = append(objects, obj)
			byObject[obj] = cache.ByObject{Field: named(c.opts.Name)}
		}
	}
	informers, err := cache.New(mgr.GetConfig(), cache.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(), ByObject: byObject,
	})
	if err != nil {
		return fmt.Errorf("set up the watch of the webhook certificate: %w", err)
	}
	for _, obj := range objects {
		informer, err := informers.GetInformer(context.Background(), obj, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T for the webhook certificate: %w", obj, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    c.see,
			UpdateFunc: func(_, obj any) { c.see(obj) },
			DeleteFunc: c.see,
		}); err != nil {
			return fmt.Errorf("watch %T for the webhook certificate: %w", obj, err)
		}
	}
	if err := mgr.Add(everywhere{informers}); err != nil {
		return fmt.Errorf("set up the watch of the webhook certificate: %w", err)
	}
	if !c.opts.Rotate {
		return nil
	}
	k := &keeper{Certificate: c, reader: mgr.GetAPIReader(), writer: mgr.GetClient()}
	if err := mgr.Add(k); err != nil {
		return fmt.Errorf("set up the rotation of the webhook certificate: %w", err)
	}
	return nil
}

func named(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }

// see takes over what a Secret holds, and tells the keeper. What cannot be used changes nothing: the certificate that is
// served goes on being served until there is a better one.
func (c *Certificate) see(obj any) {
	if secret, ok := obj.(*corev1.Secret); ok && secret.DeletionTimestamp == nil {
		if pair, err := keyPair(secret); err != nil {
			// The parser's words may quote the Secret.
			c.log.Info("the Secret holds no certificate that can be served", "secret", client.ObjectKeyFromObject(secret))
		} else {
			c.serve(pair, secret.Data[keyPrevious])
		}
	}
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// keyPair is the certificate that a Secret holds, with what it is presented with.
func keyPair(secret *corev1.Secret) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, err
	}
	if pair.Leaf == nil {
		pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0])
	}
	return &pair, err
}

// serve presents a certificate from now on. One that takes the place of a good certificate of a previous authority does
// so a little later: by then every API server has read of the new authority. The events of an informer come one by one, so
// that nobody else stores meanwhile.
func (c *Certificate) serve(pair *tls.Certificate, previous []byte) {
	next, last, now := &served{newest: pair}, c.served.Load(), time.Now()
	if last != nil && slices.EqualFunc(last.newest.Certificate, pair.Certificate, bytes.Equal) {
		return
	}
	authorities := parsed(previous)
	// What is presented goes on: the newest may itself be one that not every API server has heard of.
	for _, old := range last.all() {
		if signedBy(old, authorities, now) {
			next.before, next.until = old, now.Add(c.opts.Timing.Settle)
			break
		}
	}
	c.served.Store(next)
}

// everywhere runs a cache on every replica, elected or not.
type everywhere struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }
