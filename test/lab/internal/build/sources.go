// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// SourcesEnv names the folder that holds the modules of the binaries, where it cannot be found otherwise.
const SourcesEnv = "CINDER_LAB_SOURCES"

// CacheEnv names the folder that holds what was built.
const CacheEnv = "CINDER_LAB_CACHE"

// Sources finds the folder that holds the modules `kube` and `kwok`: the one that SourcesEnv names, the one this
// program was compiled from, or one above the working directory. They cannot be embedded: they are modules of their own.
func Sources() (string, error) {
	var tried []string
	if dir := os.Getenv(SourcesEnv); dir != "" {
		tried = append(tried, dir)
	} else {
		if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
			tried = append(tried, filepath.Dir(filepath.Dir(filepath.Dir(file))))
		}
		if dir, err := os.Getwd(); err == nil {
			for {
				tried = append(tried, dir, filepath.Join(dir, "test", "lab"))
				parent := filepath.Dir(dir)
				if parent == dir {
					break
				}
				dir = parent
			}
		}
	}
	for _, dir := range tried {
		if _, err := os.Stat(filepath.Join(dir, Kube.Name, "go.mod")); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, Kwok.Name, "go.mod")); err == nil {
			return filepath.Abs(dir)
		}
	}
	return "", fmt.Errorf("the sources of the lab's binaries were not found: run inside the clone or set %s to its folder test/lab", SourcesEnv)
}

// CacheDir is where built binaries are kept: the folder that CacheEnv names, else one in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder (or set %s): %w", CacheEnv, err)
	}
	return filepath.Join(dir, "cinder-operator", "lab"), nil
}
