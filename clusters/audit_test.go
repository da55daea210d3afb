// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// watchLog is where the target's API server writes every watch that is begun.
var watchLog string

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted, ResponseComplete, Panic]
rules:
- level: Metadata
  verbs: [watch]
- level: None
`

func auditWatches(target *envtest.Environment, folder string) error {
	policy := filepath.Join(folder, "policy.yaml")
	watchLog = filepath.Join(folder, "watches.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	target.ControlPlane.GetAPIServer().Configure().
		Append("audit-policy-file", policy).Append("audit-log-path", watchLog).Append("audit-log-mode", "blocking")
	return nil
}

// watchesOf lists what an account has begun to watch on the target so far: the paths of its requests.
func watchesOf(t *testing.T, account string) []string {
	t.Helper()
	f, err := os.Open(watchLog)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct {
			RequestURI string `json:"requestURI"`
			User       struct {
				Username string `json:"username"`
			} `json:"user"`
		}
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(entry.User.Username, account) {
			out = append(out, entry.RequestURI)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
