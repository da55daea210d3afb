// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// KubernetesVersion is what the components of every control plane report.
const KubernetesVersion = "v1.36.3"

// KwokVersion is the release of the fake kubelet.
const KwokVersion = "v0.8.0"

// Piece is one binary that a lab needs.
type Piece struct {
	// Name is the file name of the binary and the name of its module's folder below the sources.
	Name string
	// Version stands in the folder name in the cache, for people; the hash beside it decides.
	Version string
	// Package is what is built inside the module.
	Package string
	// Tags and LDFlags are passed to the Go tool.
	Tags, LDFlags string
	// Names are the further names under which the binary is called.
	Names []string
}

// Kube is the multi-call binary of etcd, the Kubernetes components and kubectl. The names beside it make its folder
// an assets folder for controller-runtime's envtest.
var Kube = Piece{
	Name:    "kube",
	Version: KubernetesVersion,
	Package: ".",
	// Without this tag the linker keeps every method of every type, since gRPC's tracing looks methods up by name.
	Tags:    "grpcnotrace",
	LDFlags: kubeLDFlags(),
	Names:   []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"},
}

// Kwok is the fake kubelet.
var Kwok = Piece{
	Name:    "kwok",
	Version: KwokVersion,
	Package: "sigs.k8s.io/kwok/cmd/kwok",
	LDFlags: "-s -w",
}

// kubeLDFlags names the version: unlinked, the components report v0.0.0-master, which clients that look at the
// server's version refuse.
func kubeLDFlags() string {
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, kv := range [][2]string{{"gitVersion", KubernetesVersion}, {"gitMajor", "1"}, {"gitMinor", "36"}, {"gitTreeState", "clean"}} {
			flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, kv[0], kv[1]))
		}
	}
	return strings.Join(flags, " ")
}

// key is the name of the piece's folder in the cache. It covers everything that decides what the binary is: the
// module's files, how it is built, and for what machine.
func (p Piece) key(sources string) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n%s\n%s\n%s/%s\n%s\n", p.Package, p.Tags, p.LDFlags, runtime.GOOS, runtime.GOARCH,
		strings.Join(p.Names, ","), p.Version)
	dir := filepath.Join(sources, p.Name)
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) && name == "main.go" {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read the module of %s: %w", p.Name, err)
		}
		fmt.Fprintf(hash, "%s %d\n", name, len(content))
		hash.Write(content)
	}
	return fmt.Sprintf("%s-%s-%s", p.Name, p.Version, hex.EncodeToString(hash.Sum(nil))[:12]), nil
}
