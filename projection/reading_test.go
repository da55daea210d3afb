// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/projection"
)

// endless answers every list with a page that another one follows.
type endless struct {
	next  http.RoundTripper
	pause time.Duration
	// item is a JSON object that each page holds; empty for none.
	item string
	// token names the next page.
	token string
	// page is told of each page, counted from one; it may be nil.
	page  func(n int64)
	pages atomic.Int64
}

func (e *endless) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet || req.URL.Query().Get("limit") == "" {
		return e.next.RoundTrip(req)
	}
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	case <-time.After(e.pause):
	}
	kind, resource := `"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"`, req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
	if !strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		list, ok := map[string]string{"deployments": "DeploymentList", "replicasets": "ReplicaSetList", "jobs": "JobList", "cronjobs": "CronJobList"}[resource]
		if !ok {
			return nil, fmt.Errorf("a list of %s", resource)
		}
		kind = fmt.Sprintf(`"kind":%q,"apiVersion":%q`, list, strings.TrimPrefix(req.URL.Path[:strings.Index(req.URL.Path, "/namespaces/")], "/apis/"))
	}
	n := e.pages.Add(1)
	if e.page != nil {
		e.page(n)
	}
	body := fmt.Sprintf(`{%s,"metadata":{"resourceVersion":"1","continue":"%d%s"},"items":[%s]}`, kind, n, e.token, e.item)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req,
	}, nil
}

// endlessTarget is the fixture's target as e answers for it.
func (f *fixture) endlessTarget(e *endless) *testTarget {
	f.Helper()
	cfg := rest.CopyConfig(apiServer)
	cfg.QPS = -1
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		e.next = next
		return e
	})
	live, err := client.New(cfg, client.Options{Scheme: scheme, Mapper: f.target.mapper})
	if err != nil {
		f.Fatal(err)
	}
	target := *f.target
	target.live = live
	return &target
}

// readers are the ways in which lists are read live.
var readers = map[string]func(*fixture, *projection.Projector, *testTarget) error{
	"a sweep": func(f *fixture, p *projection.Projector, t *testTarget) error {
		_, err := f.scopeOf(p, t, f.owner).Sweep(f.ctx)
		return err
	},
	"a sweep of revisions": func(f *fixture, p *projection.Projector, t *testTarget) error {
		return f.scopeOf(p, t, f.owner).SweepRevisions(f.ctx, &corev1.Secret{}, "base")
	},
	"a count of orphans": func(f *fixture, p *projection.Projector, t *testTarget) error {
		_, err := p.Orphans(f.ctx, t, nil, func(context.Context, string, string, string) (bool, error) { return true, nil })
		return err
	},
}

func TestAListWithoutEndIsGivenUp(t *testing.T) {
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			f := onTarget(t)
			revision, err := f.scope.ApplyRevision(f.ctx, "base", secret(""))
			if err != nil {
				t.Fatal(err)
			}
			f.awaitCached(secret(revision))

			e := &endless{}
			began := time.Now()
			err = read(f, f.p, f.endlessTarget(e))
			if !errors.Is(err, projection.ErrEndless) || !strings.Contains(err.Error(), `"edge-1"`) || !strings.Contains(err.Error(), "256 MiB") {
				t.Errorf("pages without content: %v", err)
			}
			t.Logf("%d pages in %s", e.pages.Load(), time.Since(began).Round(time.Millisecond))
			if n := e.pages.Load(); n > 5000 {
				t.Errorf("%d pages were read", n)
			}

			slow := projection.New(projection.Options{Scheme: scheme, HubUID: hubA, ReadTimeout: 300 * time.Millisecond})
			began = time.Now()
			err = read(f, slow, f.endlessTarget(&endless{pause: 50 * time.Millisecond}))
			if !errors.Is(err, projection.ErrEndless) || !strings.Contains(err.Error(), "300ms have passed") || strings.Contains(err.Error(), "continue=") {
				t.Errorf("slow pages: %v", err)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("they were given up after %s", took)
			}

			named := &endless{token: strings.Repeat("x", 16<<10)}
			if err := read(f, f.p, f.endlessTarget(named)); !errors.Is(err, projection.ErrEndless) || named.pages.Load() > 4 {
				t.Errorf("%d pages that are named at length: %v", named.pages.Load(), err)
			}
			if !f.exists(secret(revision)) {
				t.Error("the revision was deleted on what such a list says")
			}
		})
	}
}

func TestWhatPodsNameIsNotReadWithoutEnd(t *testing.T) {
	f := onTarget(t)
	revision, err := f.scope.ApplyRevision(f.ctx, "base", secret(""))
	if err != nil {
		t.Fatal(err)
	}
	f.awaitCached(secret(revision))
	e := &endless{}
	scope := f.scopeOf(f.p, f.endlessTarget(e), f.owner)
	for range 2 {
		if err := scope.SweepUnnamed(f.ctx, &corev1.Secret{}, "base"); err != nil {
			t.Errorf("who cannot tell what is named goes on all the same: %v", err)
		}
	}
	if n := e.pages.Load(); n == 0 || n > 5000 {
		t.Errorf("%d pages were read", n)
	}
	if !f.exists(secret(revision)) {
		t.Error("the revision was deleted on what such a list says")
	}
}

func TestALongListHoldsNoSecondWorker(t *testing.T) {
	f := onTarget(t)
	under, goOn := make(chan struct{}), make(chan struct{})
	p := projection.New(projection.Options{Scheme: scheme, HubUID: hubA})
	first := f.endlessTarget(&endless{page: func(n int64) {
		if n == 3 {
			close(under)
			<-goOn
		}
	}})
	ended := make(chan error, 1)
	go func() {
		_, err := f.scopeOf(p, first, f.owner).Sweep(f.ctx)
		ended <- err
	}()
	<-under
	for name, read := range readers {
		second := &endless{}
		err := read(f, p, f.endlessTarget(second))
		if want := projection.ErrBusy; name != "a count of orphans" && (!errors.Is(err, want) || second.pages.Load() != 1) {
			t.Errorf("%s beside a long list reads %d pages: %v", name, second.pages.Load(), err)
		}
	}
	close(goOn)
	if err := <-ended; !errors.Is(err, projection.ErrEndless) {
		t.Errorf("the first list ended with %v", err)
	}
	if _, err := f.scopeOf(p, f.endlessTarget(&endless{}), f.owner).Sweep(f.ctx); !errors.Is(err, projection.ErrEndless) {
		t.Errorf("once the first list is over: %v", err)
	}
}

func TestWhatASweepRemembersIsBounded(t *testing.T) {
	f := onTarget(t)
	item := fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"uid":"1","deletionTimestamp":"2026-01-01T00:00:00Z","labels":{`, f.ns, strings.Repeat("x", 1<<20))
	for key, value := range f.ownershipLabels() {
		item += fmt.Sprintf("%q:%q,", key, value)
	}
	e := &endless{item: strings.TrimSuffix(item, ",") + "}}}"}
	found, err := f.scopeOf(f.p, f.endlessTarget(e), f.owner).Sweep(f.ctx)
	if !errors.Is(err, projection.ErrEndless) || len(found) > 40 {
		t.Errorf("%d of %d children are remembered: %v", len(found), e.pages.Load(), err)
	}
}
