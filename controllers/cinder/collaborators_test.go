// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// definitions is where a collaborator publishes the definitions of its kinds, and
// which of them are wanted.
type definitions struct {
	module, files string
	kinds         []string
}

var (
	mariaDB = definitions{
		"github.com/mariadb-operator/mariadb-operator@v0.38.1", "config/crd/bases/*.yaml",
		[]string{"Database", "Grant", "MariaDB", "User"},
	}
	rabbitMQ = definitions{
		"github.com/rabbitmq/cluster-operator/v2@v2.16.0", "config/crd/bases/*.yaml",
		[]string{"RabbitmqCluster"},
	}
	externalSecrets = definitions{
		"github.com/external-secrets/external-secrets@v0.16.2", "deploy/crds/bundle.yaml",
		[]string{"ClusterSecretStore", "ExternalSecret", "SecretStore"},
	}
	verticalAutoscaler = definitions{
		"k8s.io/autoscaler/vertical-pod-autoscaler@v1.8.1", "deploy/vpa-v1-crd-gen.yaml",
		[]string{"VerticalPodAutoscaler"},
	}
	gatewayAPI = definitions{
		"sigs.k8s.io/gateway-api@v1.6.1", "config/crd/standard/*httproutes.yaml",
		[]string{"HTTPRoute"},
	}
)

// load reads the definitions as their project publishes them in its Go module,
// which the Go tool downloads and verifies if needed.
func load(sources ...definitions) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, source := range sources {
		found, err := source.load()
		if err != nil {
			return nil, fmt.Errorf("definitions of %s: %w", source.module, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func (d definitions) load() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	dir, err := moduleDir(d.module)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, d.files))
	if err != nil {
		return nil, err
	}
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
		for {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.Unmarshal(document, crd); err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
			}
			if slices.Contains(d.kinds, crd.Spec.Names.Kind) {
				// Nobody serves a conversion here, and labels are a chart's to fill in.
				crd.Spec.Conversion, crd.Labels = nil, nil
				found[crd.Spec.Names.Kind] = crd
			}
		}
	}
	if len(found) != len(d.kinds) {
		return nil, fmt.Errorf("found %v, want %v", slices.Sorted(maps.Keys(found)), d.kinds)
	}
	return slices.Collect(maps.Values(found)), nil
}

// moduleDir finds a module's folder outside any module, so that nobody's go.mod
// counts.
func moduleDir(module string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &answer); decodeErr == nil && answer.Error != "" {
		return "", errors.New(strings.TrimSpace(answer.Error))
	}
	return answer.Dir, err
}
