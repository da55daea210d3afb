// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package crds

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
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const kind = "CustomResourceDefinition"

// load reads the definitions of one project from its modules, which the Go tool downloads and verifies if needed.
func load(ctx context.Context, name string) ([]*unstructured.Unstructured, error) {
	sources, err := find(name)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, s := range sources {
		dir, err := moduleDir(ctx, s.module)
		if err != nil {
			return nil, err
		}
		for _, pattern := range s.files {
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				return nil, err
			}
			if len(files) == 0 {
				return nil, fmt.Errorf("module %s has no files %s", s.module, pattern)
			}
			for _, file := range files {
				found, err := read(file)
				if err != nil {
					return nil, fmt.Errorf("read %s of module %s: %w", filepath.Base(file), s.module, err)
				}
				all = append(all, found...)
			}
		}
	}
	return all, nil
}

// moduleDir finds a module's folder in the module cache. It runs outside any module, so that nobody's go.mod counts.
func moduleDir(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &answer); decodeErr == nil && answer.Error != "" {
		return "", fmt.Errorf("download module %s: %s", module, answer.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download module %s: %w: %s", module, errors.Join(err, ctx.Err()), bytes.TrimSpace(stderr.Bytes()))
	}
	return answer.Dir, nil
}

// read returns the definitions among the documents of a file.
func read(file string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var found []*unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		object := map[string]any{}
		if err := yaml.Unmarshal(document, &object); err != nil {
			return nil, err
		}
		crd := &unstructured.Unstructured{Object: object}
		if crd.GetKind() != kind {
			continue
		}
		prepare(crd)
		found = append(found, crd)
	}
}

// prepare drops what would need the project's own programs: a conversion webhook that nobody serves fails every read
// of another version than the stored one. Versions then convert by their name alone. Labels that a chart would fill
// in are dropped too.
func prepare(crd *unstructured.Unstructured) {
	labels := crd.GetLabels()
	maps.DeleteFunc(labels, func(_, value string) bool { return strings.Contains(value, "{{") })
	crd.SetLabels(labels)
	unstructured.RemoveNestedField(crd.Object, "spec", "conversion")
	unstructured.RemoveNestedField(crd.Object, "status")
}
