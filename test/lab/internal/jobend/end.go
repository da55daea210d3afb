// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package jobend

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// End is how the Jobs of a name end.
type End struct {
	// Job is a Job's name, or a pattern in which * stands for any text and ? for one character. Where several
	// patterns match, the most specific one decides.
	Job string `json:"job"`
	// Namespace limits the decision; empty means all.
	Namespace string `json:"namespace,omitempty"`
	// ExitCode of every container of the Job's pods; other than 0 the pod fails.
	ExitCode int `json:"exitCode"`
	// Message is the containers' termination message.
	Message string `json:"message,omitempty"`
	// Hold keeps the pods running until the decision is cleared or replaced by one that does not hold.
	Hold bool `json:"hold,omitempty"`
}

// Validate refuses what cannot be decided or cleared.
func (e End) Validate() error {
	if e.Job == "" {
		return fmt.Errorf("a Job's name or pattern is required")
	}
	if e.ExitCode < 0 || e.ExitCode > 255 {
		return fmt.Errorf("exit code %d is not between 0 and 255", e.ExitCode)
	}
	return nil
}

// name is the same for every decision about the same Jobs: a new one replaces the old.
func (e End) name() string { return "lab-job-end-" + digest(e.Namespace, e.Job) }

// id changes with everything in the decision, so that a pod shows which one it carries.
func (e End) id() string {
	return e.name() + "-" + digest(strconv.Itoa(e.ExitCode), e.Message, strconv.FormatBool(e.Hold))
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:10]
}

func (e End) exact() bool { return !strings.ContainsAny(e.Job, "*?") }

// weight orders decisions: a plain name before any pattern, then the longer text, then the one for a namespace.
func (e End) weight() int {
	weight := 2 * len(strings.NewReplacer("*", "", "?", "").Replace(e.Job))
	if e.exact() {
		weight += 10000
	}
	if e.Namespace != "" {
		weight++
	}
	return weight
}

// expression is the pattern as a regular expression.
func (e End) expression() string {
	return "^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(e.Job)) + "$"
}

// example is a name that the pattern matches.
func (e End) example() string { return strings.NewReplacer("*", "x", "?", "x").Replace(e.Job) }

func (e End) configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: e.name(), Namespace: paramNamespace, Labels: map[string]string{paramLabel: "true"}},
		Data: map[string]string{
			keyID:        e.id(),
			keyWeight:    strconv.Itoa(e.weight()),
			keyNamespace: e.Namespace,
			keyPattern:   e.Job,
			keyExpr:      e.expression(),
			keyExitCode:  strconv.Itoa(e.ExitCode),
			keyMessage:   e.Message,
			keyHold:      strconv.FormatBool(e.Hold),
		},
	}
}

func fromConfigMap(cm *corev1.ConfigMap) (End, error) {
	code, err := strconv.Atoi(cm.Data[keyExitCode])
	if err != nil {
		return End{}, fmt.Errorf("read ConfigMap %s/%s: %w", cm.Namespace, cm.Name, err)
	}
	return End{
		Job:       cm.Data[keyPattern],
		Namespace: cm.Data[keyNamespace],
		ExitCode:  code,
		Message:   cm.Data[keyMessage],
		Hold:      cm.Data[keyHold] == "true",
	}, nil
}

// annotations are what a pod with this decision carries.
func (e End) annotations() map[string]string {
	return map[string]string{
		annotationID:     e.id(),
		annotationWeight: strconv.Itoa(e.weight()),
		annotationCode:   strconv.Itoa(e.ExitCode),
		annotationText:   e.Message,
		annotationHold:   strconv.FormatBool(e.Hold),
	}
}
