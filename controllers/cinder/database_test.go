// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"testing"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestATagPinnedImageHasToBeOfTheDeclaredRelease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		image    v1alpha1.ImageSpec
		mismatch bool
	}{
		"the release itself":                 {v1alpha1.ImageSpec{Tag: "2026.1"}, false},
		"with a patch suffix":                {v1alpha1.ImageSpec{Tag: "2026.1-p1"}, false},
		"with a point release":               {v1alpha1.ImageSpec{Tag: "2026.1.3"}, false},
		"another release":                    {v1alpha1.ImageSpec{Tag: "2026.2"}, true},
		"another release with a suffix":      {v1alpha1.ImageSpec{Tag: "2025.2-p7"}, true},
		"a tag without a release":            {v1alpha1.ImageSpec{Tag: "latest"}, false},
		"a tag that only looks like one":     {v1alpha1.ImageSpec{Tag: "2026.10"}, false},
		"a commit that ends in a release":    {v1alpha1.ImageSpec{Tag: "main-2026.2"}, false},
		"a digest, whatever else is written": {v1alpha1.ImageSpec{Tag: "2026.2", Digest: "sha256:00"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := releaseMismatch(c.image, "2026.1"); (got != "") != c.mismatch {
				t.Errorf("mismatch is %q", got)
			}
		})
	}
}
