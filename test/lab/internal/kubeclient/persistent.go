// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package kubeclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"
)

// pause lies between two attempts of a request.
const pause = 200 * time.Millisecond

// persistent makes a request again until it is answered or its context ends: what is below it gives up a handshake
// after ten seconds and a silent connection after 45, and an API server a write after 34. Every write of the lab may
// be made twice.
type persistent struct {
	next http.RoundTripper
}

// RoundTrip makes the request.
func (p persistent) RoundTrip(req *http.Request) (*http.Response, error) {
	var before error
	for attempt := req; ; {
		resp, err := p.next.RoundTrip(attempt)
		switch {
		case err == nil && resp.StatusCode != http.StatusGatewayTimeout:
			return resp, nil
		case err == nil:
			resp.Body.Close()
			err = errors.New(resp.Status)
		case final(err):
			return nil, err
		case req.Context().Err() != nil && before != nil:
			return nil, fmt.Errorf("%w (before: %w)", err, before)
		}
		before = err
		if attempt, err = again(req); err != nil {
			return nil, fmt.Errorf("%w (before: %w)", err, before)
		}
	}
}

// final tells what waiting does not change: nothing listens on the address, or somebody else does.
func final(err error) bool {
	var stranger *tls.CertificateVerificationError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &stranger)
}

// again waits and copies a request with its body at the beginning.
func again(req *http.Request) (*http.Request, error) {
	select {
	case <-time.After(pause):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	next := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return next, nil
	}
	if req.GetBody == nil {
		return nil, errors.New("the body cannot be sent again")
	}
	var err error
	next.Body, err = req.GetBody()
	return next, err
}
