// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the build (-ldflags "-X main.version=v1.2.3"). A build
// without it names the commit it was made from.
var version string

func versionString() string {
	v := version
	if v == "" {
		v = "devel"
		if info, ok := debug.ReadBuildInfo(); ok {
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" && len(s.Value) >= 12 {
					v += "-" + s.Value[:12]
				}
			}
		}
	}
	return fmt.Sprintf("cinder-operator %s (%s %s/%s)", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
