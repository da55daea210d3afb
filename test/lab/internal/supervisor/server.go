// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"c5c3.io/cinder-operator/test/lab/internal/control"
	"c5c3.io/cinder-operator/test/lab/internal/controlplane"
)

// operationTimeout bounds an operation on a cluster. A start takes seconds, tens of them on a busy machine; how long
// anybody waits for it is the client's to say.
const operationTimeout = startTimeout

// errNotFound and errBadRequest choose the status of an answer.
var (
	errNotFound   = errors.New("not found")
	errBadRequest = errors.New("bad request")
)

// newServer answers on the control socket. Operations on clusters end with ctx, the lab's life.
func newServer(ctx context.Context, l *lab, down func()) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+control.PathStatus, func(w http.ResponseWriter, _ *http.Request) {
		reply(w, l.status(), nil)
	})
	mux.HandleFunc("POST "+control.PathDown, func(w http.ResponseWriter, _ *http.Request) {
		reply(w, struct{}{}, nil)
		down()
	})
	mux.HandleFunc("POST "+control.PathBlackHole, onCluster(ctx, l, func(ctx context.Context, m *member, body control.BlackHole) error {
		return m.BlackHole(ctx, controlplane.State("black-hole-"+body.Kind))
	}))
	mux.HandleFunc("POST "+control.PathHealth, onCluster(ctx, l, func(_ context.Context, m *member, body control.Health) error {
		return m.egress.Rules.Set(body)
	}))
	mux.HandleFunc("POST "+control.PathWebhook, onCluster(ctx, l, func(_ context.Context, m *member, body control.Webhook) error {
		return m.egress.Routes.Set(body.Service, body.To)
	}))
	mux.HandleFunc("POST "+control.PathOperation, func(w http.ResponseWriter, r *http.Request) {
		onCluster(ctx, l, func(ctx context.Context, m *member, _ struct{}) error {
			switch operation := r.PathValue("operation"); operation {
			case control.Kill:
				return m.Kill(ctx)
			case control.Start:
				return m.Start(ctx)
			case control.Pause:
				return m.Pause(ctx)
			case control.Resume:
				return m.Resume(ctx)
			default:
				return fmt.Errorf("%w: there is no operation %q", errNotFound, operation)
			}
		})(w, r)
	})
	return &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
}

// onCluster decodes the body, finds the cluster and runs an operation on it. The operation goes on when its client
// leaves: half a start is worse than one nobody waited for.
func onCluster[T any](life context.Context, l *lab, operate func(context.Context, *member, T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(life, operationTimeout)
		defer cancel()
		reply(w, struct{}{}, func() error {
			m, err := l.find(r.PathValue("cluster"))
			if err != nil {
				return fmt.Errorf("%w: %w", errNotFound, err)
			}
			var body T
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("%w: %w", errBadRequest, err)
			}
			return operate(ctx, m, body)
		}())
	}
}

func reply(w http.ResponseWriter, body any, err error) {
	status := http.StatusOK
	switch {
	case errors.Is(err, errNotFound):
		status = http.StatusNotFound
	case errors.Is(err, errBadRequest):
		status = http.StatusBadRequest
	case err != nil:
		status = http.StatusInternalServerError
	}
	if err != nil {
		body = control.Failure{Error: err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here means that the client has gone.
	_ = json.NewEncoder(w).Encode(body)
}
