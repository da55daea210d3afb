// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// answerError is an answer of a cluster that is not the one a probe hopes for.
type answerError struct {
	path string
	code int
}

func (e *answerError) Error() string {
	return fmt.Sprintf("answered %d to %s", e.code, e.path)
}

// refusesOrCloses words a server that is gone or on its way: whether a call finds it so by the one or by the other is up to
// chance, and one outage is to read the same from its first call to its last.
const refusesOrCloses = "the server refuses connections or closes them"

// describe words an error for a condition: the same fault in the same words each time. The errors themselves carry
// source ports and times of day, which would make every repetition look like news.
func describe(err error) string {
	var (
		answer   *answerError
		expired  x509.CertificateInvalidError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		verify   *tls.CertificateVerificationError
		header   tls.RecordHeaderError
		dns      *net.DNSError
		op       *net.OpError
		status   apierrors.APIStatus
		errno    syscall.Errno
		timeout  net.Error
	)
	var (
		tooMuch  *excess
		unsynced *unsyncedError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &tooMuch):
		return tooMuch.Error()
	case errors.As(err, &unsynced):
		return unsynced.kind + " cannot be listed and watched: " + describe(unsynced.last)
	case errors.Is(err, errLocalAddress):
		return errLocalAddress.Error()
	case errors.Is(err, errOtherHost):
		return errOtherHost.Error()
	case errors.Is(err, errAnotherCluster):
		return errAnotherCluster.Error()
	case errors.Is(err, errRefused), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return refusesOrCloses
	case errors.Is(err, errDeadline):
		return errDeadline.Error()
	case errors.As(err, &answer):
		return answer.Error()
	case isUnauthorized(err):
		return "the credential is not accepted (401)"
	case errors.As(err, &expired) && expired.Reason == x509.Expired:
		return "the server's certificate has expired or is not valid yet"
	case errors.As(err, &unknown):
		return "the server's certificate is signed by an unknown authority"
	case errors.As(err, &hostname):
		return "the server's certificate is not valid for its host name"
	case errors.As(err, &expired), errors.As(err, &verify):
		return "the server's certificate cannot be verified"
	case errors.As(err, &header):
		return "the server does not speak TLS"
	case errors.As(err, &dns):
		return "the server's host name does not resolve"
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return "the proxy cannot be reached"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return errDeadline.Error()
	case errors.As(err, &op) && op.Op == "remote error":
		return "the server refused the TLS handshake"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return refusesOrCloses
	case errors.As(err, &status):
		s := status.Status()
		return fmt.Sprintf("answered %d %s", s.Code, s.Reason)
	case errors.Is(err, errClosed):
		return errClosed.Error()
	}
	var tagged *transportError
	if errors.As(err, &tagged) {
		return "the connection failed"
	}
	return err.Error()
}

func isUnauthorized(err error) bool {
	var answer *answerError
	if errors.As(err, &answer) {
		return answer.code == http.StatusUnauthorized
	}
	return apierrors.IsUnauthorized(err)
}
