// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	corpusDirectory = ".."
	updateSuffix    = ".update.yaml"
	statusSuffix    = ".status.yaml"
)

// manifestCase is one case of the corpus: a manifest, and what is sent after it was created, if anything.
type manifestCase struct {
	kind   string // the folder's middle part, such as cinderbackend
	name   string // the file's name without its suffix
	object *unstructured.Unstructured
	update *unstructured.Unstructured // sent as an update, or nil
	status *unstructured.Unstructured // sent as an update of the status, or nil
	expect []string                   // "FIELD: MESSAGE" of each expected cause
}

// loadCases reads the corpus folders of one verdict, "invalid" or "valid". A case starts with its number; what else lies
// there is for chainsaw.
func loadCases(t *testing.T, verdict string) []manifestCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpusDirectory, verdict+"-*-schema", "[0-9]*.yaml"))
	if err != nil {
		t.Fatalf("list the %s manifests: %v", verdict, err)
	}
	var cases []manifestCase
	for _, file := range files {
		if strings.HasSuffix(file, updateSuffix) || strings.HasSuffix(file, statusSuffix) {
			continue
		}
		folder := filepath.Base(filepath.Dir(file))
		c := manifestCase{
			kind: strings.TrimSuffix(strings.TrimPrefix(folder, verdict+"-"), "-schema"),
			name: strings.TrimSuffix(filepath.Base(file), ".yaml"),
		}
		c.object = c.read(t, file)
		stem := strings.TrimSuffix(file, ".yaml")
		if _, err := os.Stat(stem + updateSuffix); err == nil {
			c.update = c.read(t, stem+updateSuffix)
		}
		if _, err := os.Stat(stem + statusSuffix); err == nil {
			c.status = c.read(t, stem+statusSuffix)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatalf("there are no %s manifests in %s", verdict, corpusDirectory)
	}
	return cases
}

// read parses one manifest and collects its expectations.
func (c *manifestCase) read(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(raw, &object.Object); err != nil {
		t.Fatalf("parse %s: %v", file, err)
	}
	object.SetNamespace("default") // where the manifests go is for whoever sends them
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan() && (lines.Text() == "" || strings.HasPrefix(lines.Text(), "#")); {
		if expected, ok := strings.CutPrefix(lines.Text(), "# expect: "); ok {
			c.expect = append(c.expect, expected)
		}
	}
	return object
}

// send does what the case says and returns the last answer. It deletes what was created. An error on the way to the
// last request fails the test: only that one is under test.
func (c *manifestCase) send(t *testing.T, ctx context.Context) error {
	t.Helper()
	object := c.object.DeepCopy()
	err := hub.Create(ctx, object, client.FieldValidation(metav1.FieldValidationStrict))
	if err == nil {
		defer func() {
			if err := hub.Delete(ctx, object); err != nil {
				t.Errorf("delete %s: %v", c.name, err)
			}
		}()
	}
	if c.update == nil && c.status == nil {
		return err
	}
	if err != nil {
		t.Fatalf("create the object to update: %v", err)
	}
	if c.update != nil {
		next := c.update.DeepCopy()
		next.SetResourceVersion(object.GetResourceVersion())
		return hub.Update(ctx, next, client.FieldValidation(metav1.FieldValidationStrict))
	}
	next := c.status.DeepCopy()
	next.SetResourceVersion(object.GetResourceVersion())
	return hub.Status().Update(ctx, next, &client.SubResourceUpdateOptions{
		UpdateOptions: *(&client.UpdateOptions{}).ApplyOptions([]client.UpdateOption{client.FieldValidation(metav1.FieldValidationStrict)}),
	})
}

// causes returns why a request was rejected: one entry for each rule. The server's own remark that CEL rules were left
// out, because the schema already failed, is none of them.
func causes(err error) ([]metav1.StatusCause, error) {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return nil, fmt.Errorf("not a rejection by the schema: %w", err)
	}
	var out []metav1.StatusCause
	for _, cause := range status.Status().Details.Causes {
		if !strings.Contains(cause.Message, "some validation rules were not checked") {
			out = append(out, cause)
		}
	}
	return out, nil
}
