// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"fmt"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// Shared renders the data of the immutable ConfigMap that every process
// mounts: cinder.conf and scheduler.conf, with json logging logging.ini, and
// with policy overrides policy.yaml. policyBase is what Policy takes as base.
// overridden is what Cinder returns.
func Shared(c *v1alpha1.Cinder, policyBase string) (data map[string]string, overridden []string, err error) {
	data = map[string]string{}
	if data[render.KeyCinderConf], overridden, err = Cinder(c); err != nil {
		return nil, nil, fmt.Errorf("render %s: %w", render.KeyCinderConf, err)
	}
	if data[render.KeySchedulerConf], err = Scheduler(c); err != nil {
		return nil, nil, fmt.Errorf("render %s: %w", render.KeySchedulerConf, err)
	}
	for _, part := range []struct {
		key  string
		text func() (string, error)
	}{
		{render.KeyLogging, func() (string, error) { return Logging(c) }},
		{render.KeyPolicy, func() (string, error) { return Policy(c, policyBase) }},
	} {
		text, err := part.text()
		if err != nil {
			return nil, nil, fmt.Errorf("render %s: %w", part.key, err)
		}
		if text != "" {
			data[part.key] = text
		}
	}
	return data, overridden, nil
}
