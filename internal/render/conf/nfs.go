// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"fmt"
	"strings"
	"unicode"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/ini"
)

// shares renders the one line of a shares file. Cinder splits it at the first
// space and takes a `#` in front for a comment, so an export with either would
// be another export or none.
func shares(export v1alpha1.NFSExportSpec) (string, error) {
	line := export.Export()
	switch {
	case ini.HasControl(line):
		return "", fmt.Errorf("spec.nfs: server or path carries a control character")
	case strings.ContainsFunc(line, unicode.IsSpace), strings.HasPrefix(line, "#"):
		return "", fmt.Errorf(`spec.nfs: server or path carries white space or starts with "#"`)
	}
	return line + "\n", nil
}
