// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// source is where a project keeps its definitions.
type source struct {
	// module is PATH@VERSION.
	module string
	// files are patterns below the module's folder.
	files []string
}

// catalog lists the projects by the names that `lab crds` takes.
var catalog = map[string][]source{
	"gateway-api":      {{"sigs.k8s.io/gateway-api@v1.6.1", []string{"config/crd/standard/*.yaml"}}},
	"mariadb-operator": {{"github.com/mariadb-operator/mariadb-operator@v0.38.1", []string{"config/crd/bases/*.yaml"}}},
	"rabbitmq": {
		{"github.com/rabbitmq/cluster-operator/v2@v2.16.0", []string{"config/crd/bases/*.yaml"}},
		{"github.com/rabbitmq/messaging-topology-operator@v1.17.4", []string{"config/crd/bases/*.yaml"}},
	},
	"external-secrets":    {{"github.com/external-secrets/external-secrets@v0.16.2", []string{"deploy/crds/bundle.yaml"}}},
	"vpa":                 {{"k8s.io/autoscaler/vertical-pod-autoscaler@v1.8.1", []string{"deploy/vpa-v1-crd-gen.yaml"}}},
	"cluster-api":         {{"sigs.k8s.io/cluster-api@v1.14.2", []string{"core/config/crd/bases/*.yaml"}}},
	"cert-manager":        {{"github.com/cert-manager/cert-manager@v1.18.2", []string{"deploy/crds/*.yaml"}}},
	"prometheus-operator": {{"github.com/prometheus-operator/prometheus-operator@v0.85.0", []string{"example/prometheus-operator-crd/*.yaml"}}},
}

// Names lists what can be installed.
func Names() []string { return slices.Sorted(maps.Keys(catalog)) }

func find(name string) ([]source, error) {
	sources, ok := catalog[name]
	if !ok {
		return nil, fmt.Errorf("unknown definitions %q, one of: %s", name, strings.Join(Names(), ", "))
	}
	return sources, nil
}
