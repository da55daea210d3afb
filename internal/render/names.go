// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Limits on the length of names.
const (
	// MaxName is the limit of a DNS label, which is also that of a label value.
	MaxName = 63
	// MaxCronJobName leaves the CronJob controller room for its suffix.
	MaxCronJobName = 52
	// MaxBase leaves an object's name, of at most 253 characters, room for the
	// digest of a revision.
	MaxBase = 253 - 1 - 10
)

// hashLength is the length of the digest in a name that was cut.
const hashLength = 8

// FitName joins the parts with dashes. A name over the limit is cut and gets a
// digest of the whole, so that two long names never meet and one name always
// ends up the same.
func FitName(limit int, parts ...string) string {
	name := strings.Join(parts, "-")
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	digest := hex.EncodeToString(sum[:])[:hashLength]
	return strings.TrimRight(name[:limit-hashLength-1], "-.") + "-" + digest
}

// The names of a Cinder's children. Those of the API carry the Cinder's own.

// SchedulerName is the scheduler Deployment's name.
func SchedulerName(cinder string) string { return FitName(MaxName, cinder, "scheduler") }

// VolumeName is the name of the Deployment that serves a backend.
func VolumeName(cinder, backend string) string { return FitName(MaxName, cinder, "volume", backend) }

// BackupName is the backup Deployment's name.
func BackupName(cinder string) string { return FitName(MaxName, cinder, "backup") }

// ConfigBase is the base name of the immutable ConfigMaps.
func ConfigBase(cinder string) string { return cinder + "-config" }

// BackendBase is the base name of the immutable Secrets of a backend.
func BackendBase(cinder, backend string) string { return FitName(MaxBase, cinder, "backend", backend) }

// BackupBase is the base name of the immutable Secrets of a backup target.
func BackupBase(cinder, target string) string { return FitName(MaxBase, cinder, "backup", target) }

// DBConnectionName is the name of the derived Secret with the database URL.
func DBConnectionName(cinder string) string { return cinder + "-db-connection" }

// TransportURLName is the name of the derived Secret with the bus URL.
func TransportURLName(cinder string) string { return cinder + "-transport-url" }

// ServiceUserName is the name of the derived Secret with the service user's
// password.
func ServiceUserName(cinder string) string { return cinder + "-service-user" }

// DBSyncName is the name of the Job that migrates the schema.
func DBSyncName(cinder string) string { return FitName(MaxName, cinder, "db-sync") }

// DBExpandName is the name of the expand phase's Job.
func DBExpandName(cinder string) string { return FitName(MaxName, cinder, "db-expand") }

// DBMigrateName is the name of the migrate phase's Job.
func DBMigrateName(cinder string) string { return FitName(MaxName, cinder, "db-migrate") }

// DBContractName is the name of the contract phase's Job.
func DBContractName(cinder string) string { return FitName(MaxName, cinder, "db-contract") }

// DBPurgeName is the purge CronJob's name, within the CronJob limit.
func DBPurgeName(cinder string) string { return FitName(MaxCronJobName, cinder, "db-purge") }

// ServiceRemoveName is the name of the Job that unregisters a backend.
func ServiceRemoveName(cinder, backend string) string {
	return FitName(MaxName, cinder, backend, "service-remove")
}

// VolumeHost is a backend's name in Cinder's service registry.
func VolumeHost(cinder, backend string) string { return cinder + "@" + backend }

// BackupHost is the backup service's name in Cinder's service registry. It
// comes from the Cinder, so that a replaced target keeps its backups.
func BackupHost(cinder string) string { return cinder + "-backup" }

// SchedulerHost is the scheduler's name in Cinder's service registry.
func SchedulerHost(cinder string) string { return cinder + "-scheduler" }
