// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// What a cluster may announce: several times what any serves. Each version of a group may cost a request, and each kind is
// held as long as the connection lives.
const (
	announcedVersions = 2000
	announcedKinds    = 10000
	announcedBytes    = 16 << 20
	announcedDecoded  = 128 << 20 // in memory, beyond what is in proportion
	// announcedAtOnce is how many versions are asked for side by side.
	announcedAtOnce = 8
)

var errAnnounced = &excess{
	words: fmt.Sprintf("it announces more than is looked at of one cluster: %d versions of API groups, %d kinds, and %s of answers that tell of them",
		announcedVersions, announcedKinds, size(announcedBytes)),
	cure: "delete the CustomResourceDefinitions and APIServices there that are needed no more",
}

// announcement is what a cluster says that it serves.
type announcement struct {
	groups    []metav1.APIGroup
	resources map[schema.GroupVersion]*metav1.APIResourceList
	failed    map[schema.GroupVersion]error
}

// announced asks for the groups, and for their resources where those did not come along: what client-go's discovery does,
// with an end to it.
func announced(ctx context.Context, cfg *rest.Config, httpClient *http.Client) (*announcement, error) {
	bounded := *httpClient
	bounded.Transport = &discoveryTransport{next: httpClient.Transport, ctx: ctx, becomes: newBucket(announcedDecoded, 0)}
	dc, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, &bounded)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	groups, resources, failed, err := dc.GroupsAndMaybeResources()
	if err != nil {
		return nil, err
	}
	a := &announcement{groups: groups.Groups, resources: resources, failed: failed}
	if a.resources == nil {
		a.resources = map[schema.GroupVersion]*metav1.APIResourceList{}
		err = a.ask(ctx, dc.RESTClient())
	} else {
		err = a.bounded(len(a.resources))
	}
	return a, err
}

// bounded answers errAnnounced if that is too much, or if there are too many versions.
func (a *announcement) bounded(versions int) error {
	kinds := 0
	for _, list := range a.resources {
		kinds += len(list.APIResources)
	}
	if versions+len(a.failed) > announcedVersions || kinds > announcedKinds*subresources {
		return errAnnounced
	}
	return nil
}

// subresources is how many resources are listed for each kind at the most.
const subresources = 4

// ask fetches the resources of every version of every group.
func (a *announcement) ask(ctx context.Context, from rest.Interface) error {
	var versions []schema.GroupVersion
	for i := range a.groups {
		for _, v := range a.groups[i].Versions {
			versions = append(versions, schema.GroupVersion{Group: a.groups[i].Name, Version: v.Version})
		}
	}
	if err := a.bounded(len(versions)); err != nil {
		return err
	}
	var mu sync.Mutex // guards a
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(announcedAtOnce)
	for _, gv := range versions {
		if ctx.Err() != nil {
			// Too much was announced, or it took too long. What is not asked is not known: it is not taken for absent.
			mu.Lock()
			a.failed[gv] = context.Cause(ctx)
			mu.Unlock()
			continue
		}
		all.Go(func() error {
			list, err := resourcesOf(ctx, from, gv)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, errTooMuch):
				return err
			case err != nil:
				a.failed[gv] = err
				return nil
			}
			a.resources[gv] = list
			return a.bounded(len(versions))
		})
	}
	return all.Wait()
}

func resourcesOf(ctx context.Context, from rest.Interface, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	path := []string{"/apis", gv.Group, gv.Version}
	if gv.Group == "" {
		path = []string{"/api", gv.Version}
	}
	list := &metav1.APIResourceList{}
	content, err := from.Get().AbsPath(path...).Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(content, list)
	}
	if gv.Group == "" && apierrors.IsNotFound(err) {
		return list, nil // an aggregated API server has no core group
	}
	if err != nil {
		return nil, fmt.Errorf("resources of %s: %w", gv, err)
	}
	return list, nil
}

// discoveryTransport bounds what the requests of one discovery take: client-go asks for the groups without a context, and
// again for as long as an answer tells it to.
type discoveryTransport struct {
	next  http.RoundTripper
	ctx   context.Context // it stands in for the one that client-go does not take
	bytes atomic.Int64
	// becomes is what the answers may become in memory, all of them.
	becomes *bucket
}

// discoveryKey is under what the context of a request knows the discovery that it is part of.
type discoveryKey struct{}

// decoded takes in what an answer becomes. What is too much of a discovery is an announcement.
func (d *discoveryTransport) decoded(n int64, now time.Time) error {
	if d.becomes.take(n, now) {
		return nil
	}
	return errAnnounced
}

// RoundTrip is part of http.RoundTripper.
func (d *discoveryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := d.next
	if next == nil {
		next = http.DefaultTransport
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(req.Context(), discoveryKey{}, d))
	unlink := context.AfterFunc(d.ctx, func() { cancel(context.Cause(d.ctx)) })
	end := func() {
		unlink()
		cancel(nil)
	}
	resp, err := next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	resp.Header.Del("Retry-After") // whoever wants a discovery comes back by himself
	resp.Body = &discoveryBody{ReadCloser: resp.Body, of: d, end: end}
	return resp, nil
}

type discoveryBody struct {
	io.ReadCloser
	of  *discoveryTransport
	end func()
}

func (b *discoveryBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.of.bytes.Add(int64(n)) > announcedBytes {
		return 0, errAnnounced
	}
	return n, err
}

// Close is part of io.Closer.
func (b *discoveryBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
