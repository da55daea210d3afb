// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package conf renders the files that Cinder, oslo.log, oslo.policy and Ceph
// read: the shared configuration, each backend's and the backup target's.
//
// Values of typed fields are literal; extraConfig and extraOptions are
// oslo.config's own syntax and go in as they are. A control character is
// refused, with an error that names section and key and holds no value.
package conf
