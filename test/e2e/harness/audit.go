// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Request is one line of an API server's audit log.
type Request struct {
	Stage string `json:"stage"`
	// StageTimestamp is when the answer was complete.
	StageTimestamp string `json:"stageTimestamp"`
	Verb           string `json:"verb"`
	RequestURI     string `json:"requestURI"`
	User           struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Mark is a place in a cluster's audit log.
type Mark struct {
	cluster *Cluster
	offset  int64
}

func (c *Cluster) auditLog() string { return filepath.Join(c.lab.dir, "audit", c.Name+".log") }

// Begin is the place in the cluster's audit log where the suite began.
func (c *Cluster) Begin() Mark { return Mark{c, c.begin} }

// Mark remembers the present end of the cluster's audit log.
func (c *Cluster) Mark(t testing.TB) Mark {
	t.Helper()
	info, err := os.Stat(c.auditLog())
	if err != nil {
		t.Fatal(err)
	}
	return Mark{c, info.Size()}
}

// Requests are those of the operator's account that ended since the mark.
func (m Mark) Requests(t testing.TB) []Request {
	t.Helper()
	f, err := os.Open(m.cluster.auditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(m.offset, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	const user = "system:serviceaccount:" + SystemNamespace + ":" + account
	var out []Request
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		// Most lines are of others, and are not worth their parsing.
		if !bytes.Contains(sc.Bytes(), []byte(user)) {
			continue
		}
		var r Request
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatalf("read %s: %v", m.cluster.auditLog(), err)
		}
		if r.User.Username == user {
			out = append(out, r)
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Writes are the requests among them that change an object; leases, reviews and
// dry runs, which change nothing of a user's, are left out.
func (m Mark) Writes(t testing.TB) []Request {
	t.Helper()
	return slices.DeleteFunc(m.Requests(t), func(r Request) bool {
		return !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) ||
			r.ObjectRef.Resource == "leases" || strings.Contains(r.RequestURI, "dryRun=All") || strings.HasPrefix(r.ObjectRef.Resource, "selfsubject")
	})
}

// PodsListed are the Jobs, by UID, whose pods the operator listed in a namespace.
// No other request for pods may be made, there or of all namespaces: an informer
// over pods would hold every pod of a cluster.
func (m Mark) PodsListed(t testing.TB, namespace string) []types.UID {
	t.Helper()
	var jobs []types.UID
	for _, r := range m.Requests(t) {
		if r.ObjectRef.Resource != "pods" || r.ObjectRef.Namespace != "" && r.ObjectRef.Namespace != namespace {
			continue
		}
		uri, err := url.ParseRequestURI(r.RequestURI)
		if err != nil {
			t.Fatal(err)
		}
		job, one := strings.CutPrefix(uri.Query().Get("labelSelector"), batchv1.ControllerUidLabel+"=")
		if r.Verb != "list" || r.ObjectRef.Namespace != namespace || !one || strings.Contains(job, ",") {
			t.Errorf("%s: %s %s", m.cluster.Name, r.Verb, r.RequestURI)
			continue
		}
		jobs = append(jobs, types.UID(job))
	}
	return jobs
}

func contains(s, part string) bool { return strings.Contains(s, part) }
