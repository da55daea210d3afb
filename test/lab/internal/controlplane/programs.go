// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"c5c3.io/cinder-operator/test/lab/internal/process"
)

// The programs of a control plane; the names are those of their logs too.
const (
	programAPIServer         = "kube-apiserver"
	programControllerManager = "kube-controller-manager"
	programScheduler         = "kube-scheduler"
	programKwok              = "kwok"
)

// auditPolicy records who did what to which object, without bodies: those would carry credentials. Leaving out the
// first stage gives one event a request, and one more at the beginning of a watch.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// egressSelector sends what an API server dials inside its cluster (pods behind a Service's proxy, webhooks) to the lab.
const egressSelector = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %q
`

// writeConfigs writes the configuration files that the programs are started with.
func (c *Cluster) writeConfigs() error {
	files := map[string]string{
		"audit.yaml":  auditPolicy,
		"egress.yaml": fmt.Sprintf(egressSelector, c.opts.Dir.EgressSocket(c.opts.Name)),
		"stages.yaml": stages,
	}
	for name, content := range files {
		if err := os.WriteFile(c.file(name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("write configuration of %s: %w", c.opts.Name, err)
		}
	}
	// kube-apiserver creates the file but not its folder.
	if err := os.MkdirAll(filepath.Dir(c.opts.Dir.AuditLog(c.opts.Name)), 0o755); err != nil {
		return fmt.Errorf("create the audit log's folder of %s: %w", c.opts.Name, err)
	}
	return nil
}

func (c *Cluster) file(name string) string {
	return filepath.Join(c.opts.Dir.ClusterState(c.opts.Name), name)
}

func (c *Cluster) startProgram(program, path string, args []string, env ...string) (*process.Process, error) {
	return c.opts.Spawner.Start(process.Spec{
		Name: program + " of " + c.opts.Name,
		Path: path,
		Args: args,
		Env:  env,
		Log:  c.opts.Dir.Log(c.opts.Name, program),
		Dir:  c.opts.Dir.ClusterState(c.opts.Name),
	})
}

func (c *Cluster) apiServerEnv() []string {
	if c.opts.GCPercent == 0 || os.Getenv("GOGC") != "" {
		return nil
	}
	return []string{fmt.Sprintf("GOGC=%d", c.opts.GCPercent)}
}

func (c *Cluster) apiServerArgs() []string {
	return []string{
		"--etcd-servers=" + c.opts.EtcdURL,
		"--etcd-prefix=/" + c.opts.Name,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.opts.Port),
		"--service-cluster-ip-range=" + serviceCIDR,
		// A loopback address is not a valid endpoint of the Service "kubernetes".
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + c.creds.path("apiserver.crt"),
		"--tls-private-key-file=" + c.creds.path("apiserver.key"),
		"--client-ca-file=" + c.creds.path("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.creds.path("sa.pub"),
		"--service-account-signing-key-file=" + c.creds.path("sa.key"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		// It taints new nodes until the node lifecycle controller, which does not run here, sees them ready.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--allow-privileged=true",
		"--egress-selector-config-file=" + c.file("egress.yaml"),
		"--audit-policy-file=" + c.file("audit.yaml"),
		"--audit-log-path=" + c.opts.Dir.AuditLog(c.opts.Name),
		// An event is in the file before the client has its answer, so a test may read the log at once.
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=2048",
		"--profiling=false",
		"--event-ttl=2h",
	}
}

func (c *Cluster) controllerManagerArgs() []string {
	kubeconfig := c.creds.path(programControllerManager + ".kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		// No port: nobody scrapes it, and its health shows in what it does.
		"--secure-port=0",
		"--service-account-private-key-file=" + c.creds.path("sa.key"),
		"--root-ca-file=" + c.creds.path("ca.crt"),
		"--cluster-signing-cert-file=" + c.creds.path("ca.crt"),
		"--cluster-signing-key-file=" + c.creds.path("ca.key"),
		"--use-service-account-credentials=true",
		"--leader-elect=false",
		// With the default rate the first ServiceAccount takes nine seconds to appear.
		"--kube-api-qps=500",
		"--kube-api-burst=500",
		"--controllers=" + strings.Join(controllers, ","),
	}
}

// controllers are those whose work somebody can miss in a cluster of the lab. Each costs a start, an account, and the
// watches of what it looks after. The node lifecycle controller must not be among them: fake nodes send no heartbeats, and it would
// find them lost after every outage of the API server and evict their pods.
var controllers = []string{
	"clusterrole-aggregation-controller",
	"cronjob-controller",
	"daemonset-controller",
	"deployment-controller",
	"disruption-controller",
	"endpoints-controller", // the way to a Service through the API server goes by them
	"endpointslice-controller",
	"endpointslice-mirroring-controller",
	"garbage-collector-controller",
	"horizontal-pod-autoscaler-controller",
	"job-controller",
	"namespace-controller",
	"pod-garbage-collector-controller",
	"replicaset-controller",
	"root-ca-certificate-publisher-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"statefulset-controller",
	"ttl-after-finished-controller",
}

func (c *Cluster) schedulerArgs() []string {
	kubeconfig := c.creds.path(programScheduler + ".kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
	}
}

func (c *Cluster) kwokArgs() []string {
	return []string{
		"--kubeconfig=" + c.creds.path(programKwok+".kubeconfig"),
		"--config=" + c.file("stages.yaml"),
		"--manage-all-nodes=true",
		"--cidr=" + podCIDR,
		"--node-ip=" + nodeIP,
		"--server-address=",
		"--node-port=0",
		// With Leases a restarted kwok waits up to 40 s for those of the one before.
		"--node-lease-duration-seconds=0",
	}
}
