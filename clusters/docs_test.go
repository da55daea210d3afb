// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestWhatAnOperatorIsToldStandsInTheDocumentation(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "explanation", "target-clusters.md"))
	if err != nil {
		t.Fatal(err)
	}
	// What the page leaves open is written there in angle brackets, or cut off by an ellipsis.
	begins := func(err error) string {
		message, _, _ := strings.Cut(err.Error(), ": ")
		return message
	}
	said := []string{
		begins(notRegistered("x", "c5c3-clusters")),
		begins(refused("x", &Refusal{Reason: "R"}, "")),
		begins(connecting("x", CauseConnecting, "", nil)),
		`target cluster "x" is unreachable since <time>: <cause>`,
		begins(notPermitted("x", "ns", "")),
		begins(namespaceNotServed("x", "ns", "", []string{"a", "b"})),
		begins(namespaceAbsent("x", "ns", nil)),
		describe(errDeadline), describe(errRefused), describe(io.EOF),
		describe(&net.DNSError{}), describe(&net.OpError{Op: "proxyconnect", Err: errors.New("x")}),
		describe(&unsyncedError{kind: "<Kind>", last: errDeadline})[:len("<Kind> cannot be listed and watched: ")] + "...",
		"the credential is not accepted (401)", strings.ReplaceAll(describe(&answerError{"/readyz", 500}), "500", "<code>"),
		"the server's certificate", "the server refused the TLS handshake", "the server does not speak TLS",
		string(phaseConnected), string(phaseConnecting), string(phaseUnreachable), string(phaseUnauthorized), string(phaseSyncFailed),
		v1alpha1.ReasonAccepted, v1alpha1.ReasonKubeconfigMissing, v1alpha1.ReasonKubeconfigInvalid, v1alpha1.ReasonCredentialPluginRefused,
		v1alpha1.ReasonFileReferenceRefused, v1alpha1.ReasonInsecureKubeconfig, v1alpha1.ReasonLocalAddressRefused, v1alpha1.ReasonNamespacesInvalid,
		v1alpha1.ReasonPermitted, v1alpha1.ReasonPermissionsMissing,
		eventConnected, eventUnreachable, eventRefused, eventDisconnected,
	}
	if got := describe(x509.UnknownAuthorityError{}); !strings.HasPrefix(got, "the server's certificate") {
		t.Errorf("described as %q", got)
	}
	limits := Limits{}.withDefaults()
	i := newIntake(limits)
	tooMuch := []error{i.answer(int(limits.Answers) + 1), i.watch(int(limits.Watches)+1, i.watched.at), i.cached(limits.Cached + 1), i.amplified()}
	for _, err := range tooMuch {
		before, _, _ := strings.Cut(err.Error(), "MiB")
		said = append(said, before+"MiB ...")
	}
	announces, _, _ := strings.Cut(errAnnounced.Error(), ":")
	said = append(said, announces+" ...")
	for _, words := range said {
		words = strings.ReplaceAll(words, "is refused: R", "is refused: <reason>")
		if words == "" || !strings.Contains(string(page), words) {
			t.Errorf("the page does not say %q", words)
		}
	}
}
